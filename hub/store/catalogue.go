package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// catalogue holds what is known of each channel without reading its rows. It includes the batch
// that is being written.
type catalogue struct {
	mu    sync.Mutex
	byURI map[ahp.URI]*channelRow
	next  int64 // the next free id
}

type channelRow struct {
	id          int64
	info        hub.ChannelInfo
	floor, last int64
	run         int64 // bytes of envelopes after the snapshot
	snap        int64 // bytes of the snapshot
	busy        bool  // a snapshot is in progress
}

func (c *catalogue) load(ctx context.Context, db *sql.DB) error {
	c.byURI, c.next = map[ahp.URI]*channelRow{}, 1
	rows, err := db.QueryContext(ctx, "SELECT id, uri, kind, session, chat, floor, last, run, snap FROM channels")
	if err != nil {
		return describe(err)
	}
	if err := metaValue(ctx, db, metaChannels, &c.next); err != nil {
		return err
	}
	return describe(scan(rows, func() error {
		var r channelRow
		err := rows.Scan(&r.id, &r.info.URI, &r.info.Kind, &r.info.Session, &r.info.Chat, &r.floor, &r.last, &r.run,
			&r.snap)
		c.byURI[r.info.URI] = &r
		c.next = max(c.next, r.id+1)
		return err
	}))
}

// metaValue reads a value of meta; a missing one leaves v unchanged.
func metaValue(ctx context.Context, db *sql.DB, key string, v *int64) error {
	err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key=?", key).Scan(v)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return describe(err)
}

func (c *catalogue) boot() []hub.BootChannel {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]hub.BootChannel, 0, len(c.byURI))
	for _, r := range c.byURI {
		out = append(out, hub.BootChannel{ChannelInfo: r.info, Floor: r.floor, Last: r.last})
	}
	return out
}
