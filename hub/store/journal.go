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
//
// Batches are encoded while earlier ones are written; those that wait share a transaction.
func (s *Store) Run(ctx context.Context, h *hub.Hub) error {
	snaps := s.newSnapshotter(ctx)
	defer snaps.stop()
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { s.keepGuard(ctx, h) })
	beside.Go(func() { s.keepReserve(ctx, h) })
	beside.Go(func() { s.keepPruning(ctx, h) })
	encoded, stop := make(chan flight, mostFlights), make(chan struct{})
	failed := make(chan error, 1)
	beside.Go(func() { failed <- s.encodeBatches(ctx, h, encoded, stop) })
	err := s.writeBatches(ctx, h, encoded, snaps)
	close(stop)
	cancel() // after an error, too
	return errors.Join(err, <-failed)
}

// mostFlights bounds the batches that are encoded and wait.
const mostFlights = 8

// flight is an encoded batch.
type flight struct {
	upto, reserved int64
	batch          []byte
}

// encodeBatches takes batches from the hub until ctx has ended and everything is taken.
func (s *Store) encodeBatches(ctx context.Context, h *hub.Hub, encoded chan<- flight, stop <-chan struct{}) error {
	defer close(encoded)
	for {
		b, err := h.Unjournaled(ctx)
		if err != nil {
			return nil
		}
		f := flight{upto: b.Upto}
		if b.Reserve {
			f.reserved = b.Seq + s.cfg.SeqBlock
		}
		if f.batch, err = Encode(b, f.reserved); err != nil {
			return s.giveUp(h, err)
		}
		select {
		case encoded <- f:
		case <-stop:
			return nil
		}
	}
}

// giveUp ends the journal for good; the program stops with it.
func (s *Store) giveUp(h *hub.Hub, err error) error {
	h.JournalFailed(err)
	s.log.Error("the journal cannot go on", "err", err)
	return fmt.Errorf("journal: %w", err)
}

// writeBatches writes encoded batches in order until there are no more.
func (s *Store) writeBatches(ctx context.Context, h *hub.Hub, encoded <-chan flight, snaps *snapshotter) error {
	for f := range encoded {
		p, upto, reserved := newPlan(), int64(0), int64(0)
		for more := true; more; {
			if err := s.addBatch(p, s.position+1, f.batch); err != nil {
				return s.giveUp(h, err)
			}
			s.position++
			upto, reserved = f.upto, max(reserved, f.reserved)
			select {
			case f, more = <-encoded:
			default:
				more = false
			}
		}
		s.finish(p)
		if err := s.insist(ctx, h, p); err != nil {
			return fmt.Errorf("journal: not everything is on disk: %w", err)
		}
		h.Durable(upto, reserved)
		if s.staysFull(h) {
			continue
		}
		snaps.want(p.grown)
	}
	return nil
}

// Apply writes an encoded batch at its position in one transaction. One that was applied before changes nothing; the
// next is the one after the newest. After an error the store is to be opened anew: its memory is ahead of the disk.
func (s *Store) Apply(pos int64, batch []byte) error {
	if pos <= s.position {
		return nil
	}
	if pos != s.position+1 {
		return fmt.Errorf("batch %d does not follow batch %d", pos, s.position)
	}
	p := newPlan()
	if err := s.addBatch(p, pos, batch); err != nil {
		return err
	}
	s.position = pos
	s.finish(p)
	return s.try(p)
}

const (
	maxPause = 5 * time.Second
	// lastTries bounds how long a disk that takes nothing keeps the program
	// from stopping.
	lastTries = 2 * time.Second
)

// insist writes a plan, however often it takes; once ctx has ended, for lastTries.
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

// try is not cut short by the end of the program: half a commit helps no caller.
func (s *Store) try(p *plan) error { return s.transact(p.apply) }

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
