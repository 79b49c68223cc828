package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Run writes the hub's journal until ctx ends, and then the rest of it. After a failed write, the
// host is read-only and the write is retried until it succeeds: accepted changes are never dropped.
//
// Two writers take turns: one takes and encodes the next batch while the other writes. A single
// batch passes from the hub to the disk in one of them.
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
			cancel() // also after an error
		})
	}
	writers.Wait()
	return t.err
}

// runBeside starts the journal's other tasks until ctx ends; wait waits for their end.
func (s *Store) runBeside(ctx context.Context, h *hub.Hub) (wait func()) {
	var g sync.WaitGroup
	g.Go(func() { s.keepGuard(ctx, h) })
	g.Go(func() { s.keepReserve(ctx, h) })
	g.Go(func() { s.keepPruning(ctx, h) })
	return g.Wait
}

// turns is the shared state of the two writers.
type turns struct {
	store *Store
	hub   *hub.Hub
	snaps *snapshotter
	take  sync.Mutex // held from taking a batch until its turn to be written
	write sync.Mutex // held while batches are written
	err   error      // why writing ended; guarded by write
}

// next takes the hub's next batch, waits for its turn, and writes it with later batches. It reports
// whether its writer should continue.
func (t *turns) next(ctx context.Context) bool {
	t.take.Lock()
	b, err := t.hub.Unjournaled(ctx)
	if err != nil {
		t.take.Unlock()
		return false // ctx has ended and the journal is empty
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

// giveUp ends the journal permanently; the program stops too.
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

// Apply writes an encoded batch at its position in one transaction. Applying it again changes
// nothing; otherwise the position must follow the newest one. After an error, reopen the store: its
// memory is ahead of the disk.
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
	// lastTries limits how long a failing disk delays the program's end.
	lastTries = 2 * time.Second
)

// insist writes a plan with retries; after the end of ctx, only for lastTries.
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
		return nil // endFull ends this state once there is room
	}
	h.JournalBack() // a lost directory would have failed the last try
	return nil
}

// try ignores the program's end: an interrupted commit helps no caller.
func (s *Store) try(p *plan) error { return s.transact(p.apply) }

// sleep pauses for d or until ctx ends; if ctx has already ended, for all of d.
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
