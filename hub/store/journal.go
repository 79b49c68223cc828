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
// Two writers take turns: one takes the next batch and encodes it while the other writes. A
// batch that comes alone passes through one of them from the hub to the disk.
func (s *Store) Run(ctx context.Context, h *hub.Hub) error {
	snaps := s.newSnapshotter(ctx)
	defer snaps.stop()
	ctx, cancel := context.WithCancel(ctx)
	wait := s.runBeside(ctx, h)
	defer wait()
	defer cancel()
	t := &turns{store: s, hub: h, snaps: snaps}
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for t.next(ctx) {
			}
			cancel() // after an error, too
		})
	}
	writers.Wait()
	return t.err
}

// runBeside does what a journal needs besides writing, until ctx ends; wait waits for that.
func (s *Store) runBeside(ctx context.Context, h *hub.Hub) (wait func()) {
	var g sync.WaitGroup
	g.Go(func() { s.keepGuard(ctx, h) })
	g.Go(func() { s.keepReserve(ctx, h) })
	g.Go(func() { s.keepPruning(ctx, h) })
	return g.Wait
}

// turns is what two writers of the journal share.
type turns struct {
	store *Store
	hub   *hub.Hub
	snaps *snapshotter
	take  sync.Mutex // held from taking a batch until it is the batch's turn to be written
	write sync.Mutex // held while batches are written
	err   error      // why nothing is written any more; guarded by write
}

// next takes what the hub has, waits for its turn, and writes it with what came meanwhile. It reports whether its
// writer is to go on.
func (t *turns) next(ctx context.Context) bool {
	t.take.Lock()
	b, err := t.hub.Unjournaled(ctx)
	if err != nil {
		t.take.Unlock()
		return false // ctx has ended and everything is taken
	}
	flights, err := t.encode(nil, b) // while the other writer writes
	t.write.Lock()
	defer t.write.Unlock()
	if err == nil && t.err == nil {
		if more, ok := t.hub.MoreUnjournaled(); ok {
			flights, err = t.encode(flights, more)
		}
	}
	t.take.Unlock()
	switch {
	case t.err != nil:
	case err != nil:
		t.err = t.store.giveUp(t.hub, err)
	default:
		began := time.Now()
		t.err = t.store.writeFlights(ctx, t.hub, flights, t.snaps)
		if t.store.cfg.Wrote != nil {
			t.store.cfg.Wrote(time.Since(began))
		}
	}
	return t.err == nil
}

// flight is an encoded batch.
type flight struct {
	upto, reserved int64
	batch          []byte
}

// encode appends a batch to flights.
func (t *turns) encode(flights []flight, b hub.Batch) ([]flight, error) {
	f := flight{upto: b.Upto}
	if b.Reserve {
		f.reserved = b.Seq + t.store.cfg.SeqBlock
	}
	var err error
	f.batch, err = Encode(b, f.reserved)
	return append(flights, f), err
}

// giveUp ends the journal for good; the program stops with it.
func (s *Store) giveUp(h *hub.Hub, err error) error {
	h.JournalFailed(err)
	s.log.Error("the journal cannot continue", "err", err)
	return fmt.Errorf("journal: %w", err)
}

// writeFlights writes encoded batches in one transaction.
func (s *Store) writeFlights(ctx context.Context, h *hub.Hub, flights []flight, snaps *snapshotter) error {
	p, upto, reserved := newPlan(), int64(0), int64(0)
	for _, f := range flights {
		if err := s.addBatch(p, s.position+1, f.batch); err != nil {
			return s.giveUp(h, err)
		}
		s.position++
		upto, reserved = f.upto, max(reserved, f.reserved)
	}
	s.finish(p)
	if err := s.insist(ctx, h, p); err != nil {
		return fmt.Errorf("journal: not everything is on disk: %w", err)
	}
	h.Durable(upto, reserved)
	if !s.staysFull(h) {
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
	return s.ApplyMarked(pos, nil, batch)
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
	s.log.Error("the journal cannot be written; ahphub is read-only until it can", "err", err)
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
