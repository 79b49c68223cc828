package changeset

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// Checkpoints run while earlier ones are packed: packing never removes a directory that is being
// written to.
func TestKeepDoesNotBlockOthers(t *testing.T) {
	p := newPlace(t)
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan machine.Checkpoint)
	var keepers sync.WaitGroup
	for range 2 {
		keepers.Go(func() {
			for c := range kept {
				if err := p.svc.Keep(ctx, session, c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	defer stop()
	for i := range 40 {
		p.write("a.txt", fmt.Sprintln("turn", i))
		c, err := p.svc.Checkpoint(ctx, session, []string{p.dir})
		if err != nil {
			t.Fatal(err)
		}
		kept <- c
	}
	close(kept)
	keepers.Wait()
}
