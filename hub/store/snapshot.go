package store

import (
	"context"
	"errors"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
)

// snapshotter writes snapshots in the background. It rebuilds the state from rows instead of
// reading the hub's, so that a snapshot is never ahead of the journal, and terminal output, which
// has no rows, is never written to disk.
type snapshotter struct {
	store *Store
	ctx   context.Context
	queue chan *channelRow
	wg    sync.WaitGroup
}

func (s *Store) newSnapshotter(ctx context.Context) *snapshotter {
	sn := &snapshotter{store: s, ctx: ctx, queue: make(chan *channelRow, 64)}
	sn.wg.Go(sn.run)
	return sn
}

// want queues the channels that are due for a snapshot. If the queue is full, a channel is retried
// with its next envelope.
func (sn *snapshotter) want(grown []*channelRow) {
	cat := &sn.store.catalogue
	cat.mu.Lock()
	defer cat.mu.Unlock()
	for _, r := range grown {
		if r.busy || r.run < max(r.snap, int64(sn.store.cfg.WindowBytes)) {
			continue
		}
		select {
		case sn.queue <- r:
			r.busy = true
		default:
			return
		}
	}
}

func (sn *snapshotter) run() {
	for r := range sn.queue {
		if sn.ctx.Err() != nil {
			continue // no snapshot is needed: it costs the next start nothing
		}
		closed, size, err := sn.store.snapshot(sn.ctx, r)
		if err != nil && sn.ctx.Err() == nil {
			sn.store.log.Warn("snapshot failed; it is tried again with the channel's next change", "channel",
				r.info.URI, "err", err)
		}
		sn.done(r, closed, size)
	}
}

func (sn *snapshotter) done(r *channelRow, closed, size int64) {
	sn.store.catalogue.mu.Lock()
	defer sn.store.catalogue.mu.Unlock()
	r.busy = false
	if size > 0 {
		r.run, r.snap = r.run-closed, size
	}
}

func (sn *snapshotter) stop() {
	close(sn.queue)
	sn.wg.Wait()
}

// snapshot writes a channel's state as of its newest row, and deletes earlier rows that replay does
// not need. It returns the size of the envelopes in the new snapshot, and of the state; zeros if
// the channel is gone.
func (s *Store) snapshot(ctx context.Context, r *channelRow) (closed, size int64, err error) {
	c, err := s.readChannel(ctx, r.info.URI)
	if errors.Is(err, ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	state, err := ahp.Marshal(c.state)
	if err != nil {
		return 0, 0, err
	}
	if err := s.transact(func(w *conn) error {
		return w.closeRun(c, c.cut(s.cfg.WindowBytes), state)
	}); err != nil {
		return 0, 0, err
	}
	return c.run, int64(len(state)), nil
}

func (w *conn) closeRun(c *loaded, floor int64, state []byte) error {
	changed, err := w.exec("UPDATE channels SET floor=?1, snap=?2, run=run-?3, sum=sum+3*(?1-floor)+11*(?2-snap)-7*?3 WHERE id=?4",
		floor, len(state), c.run, c.id) // weights as in checksummer
	if err != nil || changed == 0 {
		return err // 0: closed meanwhile
	}
	if _, err := w.exec(sqlSnapshot, c.id, c.last, state, c.sums.snapshot(c.id, c.last, state)); err != nil {
		return err
	}
	_, err = w.exec("DELETE FROM envelopes WHERE channel=? AND seq<=?", c.id, floor)
	return err
}
