package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Run writes the hub's journal until ctx ends, and then what is left of it. A
// batch that cannot be written turns the host read-only and is tried again
// until it can: nothing that was accepted is dropped.
func (s *Store) Run(ctx context.Context, h *hub.Hub) error {
	snaps := s.newSnapshotter(ctx)
	defer snaps.stop()
	var guarding sync.WaitGroup
	defer guarding.Wait()
	guarding.Go(func() { s.keepGuard(ctx, h) })
	guarding.Go(func() { s.keepReserve(ctx, h) })
	for {
		b, err := h.Unjournaled(ctx)
		if err != nil {
			return nil // ctx has ended and everything is written
		}
		p, err := s.plan(b)
		if err != nil {
			h.JournalFailed(err) // for good: the program stops with it
			s.log.Error("the journal cannot go on", "err", err)
			return fmt.Errorf("journal: %w", err)
		}
		if err := s.insist(ctx, h, p); err != nil {
			return fmt.Errorf("journal: not everything is on disk: %w", err)
		}
		h.Durable(b.Upto, p.reserved)
		if s.staysFull(h) {
			continue
		}
		snaps.want(p.grown)
	}
}

const (
	maxPause = 5 * time.Second
	// lastTries bounds how long a disk that takes nothing keeps the program
	// from stopping.
	lastTries = 2 * time.Second
)

// insist writes a plan, however often it takes; once ctx has ended, for
// lastTries.
func (s *Store) insist(ctx context.Context, h *hub.Hub, p *plan) error {
	err := s.try(p)
	if err == nil {
		return nil
	}
	s.log.Error("the journal cannot be written: the host is read-only until it can", "err", err)
	var giveUp time.Time
	for pause := s.cfg.RetryAfter; err != nil; pause = min(2*pause, maxPause) {
		h.JournalFailed(err)
		if ctx.Err() != nil {
			pause = s.cfg.RetryAfter
			if giveUp.IsZero() {
				giveUp = time.Now().Add(lastTries)
			}
		}
		if errors.Is(err, ErrClosed) || !giveUp.IsZero() && time.Now().After(giveUp) {
			return err
		}
		sleep(ctx, pause)
		err = s.try(p)
	}
	s.log.Info("the journal is back")
	if s.full.Load() {
		return nil // back once there is room
	}
	h.JournalBack() // a lost directory would have failed the last try
	return nil
}

// try is not cut short by the end of the program: half a commit helps nobody.
func (s *Store) try(p *plan) error {
	return s.do(context.Background(), func(c *conn) (error, error) { return nil, p.apply(c) })
}

// sleep pauses until d is over or ctx ends; with ctx over already, all of d.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	if ctx.Err() != nil {
		<-t.C
		return
	}
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
