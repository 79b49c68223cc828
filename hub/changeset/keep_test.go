package changeset

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// Checkpoints are taken while earlier ones are being kept: packing takes no directory away under one that writes there.
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
