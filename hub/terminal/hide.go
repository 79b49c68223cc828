package terminal

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/hub/redact"
)

// holdFor is how long the possible beginning of a secret is held back when the program prints nothing more.
const holdFor = 30 * time.Millisecond

// hide passes chunks on without the secrets of a set, until in is closed.
func hide(ctx context.Context, set *redact.Set, in <-chan []byte, out chan<- []byte) {
	st := set.NewStream()
	pass := func(chunk []byte) {
		if len(chunk) == 0 {
			return
		}
		select {
		case out <- chunk:
		case <-ctx.Done():
		}
	}
	timer := time.NewTimer(holdFor)
	defer timer.Stop()
	for {
		select {
		case chunk, ok := <-in:
			if !ok {
				pass(st.Close())
				return
			}
			pass(st.Write(chunk))
			if st.IsHolding() {
				timer.Reset(holdFor)
			}
		case <-timer.C:
			pass(st.Pause())
		}
	}
}
