package hub

import (
	"context"
	"errors"
	"fmt"
)

// ErrUnsaved is returned for changes that are accepted and not on disk yet. The journal keeps
// trying to write them.
var ErrUnsaved = errors.New("this is not saved yet; saving is retried")

// settler waits for a position of the journal.
type settler struct {
	pos  int64
	done chan error // holds one
}

// Position returns the journal's position after everything accepted so far.
func (h *Hub) Position() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.journal.pos
}

// Settle blocks until everything accepted after a position, and before the call, is durable. Forms
// of pages are answered after it, like the actions of clients. It returns an error that wraps
// ErrUnsaved as soon as the journal fails, and when ctx ends first.
func (h *Hub) Settle(ctx context.Context, since int64) error {
	h.mu.Lock()
	j := &h.journal
	if j.pos <= max(since, h.durable.Load()) {
		h.mu.Unlock()
		return nil
	}
	if j.failed != nil && !j.saving {
		defer h.mu.Unlock()
		return fmt.Errorf("%w (%w)", ErrUnsaved, j.failed)
	}
	s := settler{pos: j.pos, done: make(chan error, 1)}
	j.settlers = append(j.settlers, s)
	h.mu.Unlock()
	select {
	case err := <-s.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w (%w)", ErrUnsaved, context.Cause(ctx))
	}
}

// HasQuorum reports whether another host may continue without what is not durable here.
func (h *Hub) HasQuorum() bool { return h.quorum != nil }

// SettleShown blocks until a result may be shown: with a quorum, until everything accepted is
// durable and no other host can have taken over. It returns an error that wraps ErrUnsaved when
// that may never happen.
func (h *Hub) SettleShown(ctx context.Context) error {
	if h.quorum == nil {
		return nil
	}
	if err := h.Settle(ctx, 0); err != nil {
		return err
	}
	if err := h.quorum(); err != nil {
		return fmt.Errorf("%w (%w)", ErrUnsaved, err)
	}
	return nil
}

// settle answers the waiters for positions up to upto, or all of them with cause; Hub.mu is held.
func (j *journal) settle(upto int64, cause error) {
	kept := j.settlers[:0]
	for _, s := range j.settlers {
		switch {
		case cause != nil:
			s.done <- fmt.Errorf("%w (%w)", ErrUnsaved, cause)
		case s.pos <= upto:
			s.done <- nil
		default:
			kept = append(kept, s)
		}
	}
	clear(j.settlers[len(kept):])
	j.settlers = kept
}
