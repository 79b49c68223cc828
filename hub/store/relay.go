package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Append hands an encoded batch to a log outside of this store, after those before it. wait returns nil once the batch
// is durable and was applied to this store by ApplyMarked.
type Append func(batch []byte) (wait func() error)

// mostUnderway is how many batches may be appended and not durable.
const mostUnderway = 64

// BootBy is Boot for a hub whose journal is written by RunBy: the block of numbers is reserved by the log, too.
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

// RunBy writes the hub's journal to a log until ctx ends, and then what is left of it. The log applies what is durable
// to this store. The first batch that does not become durable ends it: the host is read-only from then on, and whether
// the log has that batch is not known.
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

// appended is a batch that the log was given.
type appended struct {
	upto, reserved int64
	began          time.Time
	wait           func() error
}

// appendAll gives the log what the hub has, until ctx has ended and everything is taken.
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

// confirm tells the hub of what has become durable, in order, until underway is closed. What was appended after a batch
// that failed is not durable, either.
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
