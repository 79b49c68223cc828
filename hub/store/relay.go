package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Append passes an encoded batch to a log outside of this store, after earlier ones. wait returns
// nil once the batch is durable and ApplyMarked has applied it to this store.
type Append func(batch []byte) (wait func() error)

// mostUnderway limits appended batches that are not durable yet.
const mostUnderway = 64

// BootBy boots a hub whose journal RunBy writes: the log also reserves the block of numbers.
func (s *Store) BootBy(ctx context.Context, add Append) (hub.Boot, error) {
	var reserved int64
	if err := metaValue(ctx, s.read, metaReserved, &reserved); err != nil {
		return hub.Boot{}, describe(err)
	}
	b := hub.Boot{Seq: reserved, Reserved: reserved + s.cfg.SeqBlock}
	batch, err := Encode(hub.Batch{Seq: b.Seq}, b.Reserved)
	if err == nil {
		err = add(batch)()
	}
	if err == nil {
		b.Channels = s.catalogue.boot()
		b.Answered, err = s.answered(ctx)
	}
	return b, err
}

// RunBy writes the hub's journal to a log until ctx ends, and then the rest of it. The log applies
// durable batches to this store. The first batch that does not become durable ends RunBy and makes
// the host read-only; whether the log has that batch is unknown.
func (s *Store) RunBy(ctx context.Context, h *hub.Hub, add Append) error {
	ctx, cancel := context.WithCancel(ctx)
	wait := s.runBeside(ctx, h)
	defer wait()
	defer cancel()
	underway := make(chan appended, mostUnderway)
	confirmed := make(chan error, 1)
	go func() { confirmed <- s.confirm(h, underway, cancel) }()
	err := s.appendAll(ctx, h, add, underway)
	close(underway)
	return errors.Join(err, <-confirmed)
}

// appended is a batch passed to the log.
type appended struct {
	upto, reserved int64
	began          time.Time
	wait           func() error
}

// appendAll passes the hub's batches to the log until ctx has ended and the journal is empty.
func (s *Store) appendAll(ctx context.Context, h *hub.Hub, add Append, underway chan<- appended) error {
	for {
		b, err := h.Unjournaled(ctx)
		if err != nil {
			return nil
		}
		a := appended{upto: b.Upto, began: time.Now()}
		if b.Reserve {
			a.reserved = b.Seq + s.cfg.SeqBlock
		}
		batch, err := Encode(b, a.reserved)
		if err != nil {
			return s.giveUp(h, err)
		}
		a.wait = add(batch)
		underway <- a
	}
}

// confirm reports durable batches to the hub, in order, until underway is closed. Batches after a
// failed one are not durable either.
func (s *Store) confirm(h *hub.Hub, underway <-chan appended, stop func()) (failed error) {
	for a := range underway {
		err := a.wait()
		switch {
		case failed != nil:
		case err != nil:
			failed = fmt.Errorf("journal: %w", err)
			h.JournalFailed(err)
			stop()
		default:
			h.Durable(a.upto, a.reserved)
			s.staysFull(h)
			if s.cfg.Wrote != nil {
				s.cfg.Wrote(time.Since(a.began))
			}
		}
	}
	return failed
}
