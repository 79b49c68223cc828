package store

import (
	"context"

	"github.com/ahphub/ahphub/hub"
)

const sqlReserve = "INSERT INTO meta (key, value) VALUES ('" + metaReserved + "', ?) ON CONFLICT DO UPDATE SET value=max(value, " +
	"excluded.value)"

// Boot returns the initial state of the hub: the catalogue, without transcripts. Numbers continue
// after all reserved ones, used or not, so that none repeats after a crash, including those of
// terminal output, which is not in the journal. The next block is durable when Boot returns.
func (s *Store) Boot(ctx context.Context) (hub.Boot, error) {
	var b hub.Boot
	err := s.transact(func(c *conn) (err error) {
		b.Seq, b.Reserved, err = c.reserve(s.cfg.SeqBlock)
		return err
	})
	if err != nil {
		return hub.Boot{}, err
	}
	b.Channels = s.catalogue.boot()
	b.Answered, err = s.answered(ctx)
	return b, err
}

// reserve returns the end of the reserved numbers and reserves another block.
func (c *conn) reserve(block int64) (from, to int64, err error) {
	rows, err := c.query("SELECT value FROM meta WHERE key='" + metaReserved + "'")
	if err != nil {
		return 0, 0, err
	}
	if err := scan(rows, func() error { return rows.Scan(&from) }); err != nil {
		return 0, 0, err
	}
	_, err = c.exec(sqlReserve, from+block)
	return from, from + block, err
}
