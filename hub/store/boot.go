package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/ahphub/ahphub/hub"
)

const (
	sqlReserve = "INSERT INTO meta (key, value) VALUES ('reserved', ?) ON CONFLICT DO UPDATE SET value=max(value, excluded.value)"
	// keptAnswers and answersFor bound which client actions are known to be
	// answered over a restart.
	keptAnswers = 50_000
	answersFor  = 7 * 24 * time.Hour
)

// Boot is what the hub starts from: the catalogue, not the transcripts. Numbers
// go on behind everything that was ever reserved, used or not, so that none
// repeats after a crash, terminals' unjournaled ones included. The next block
// is on disk when Boot returns.
func (s *Store) Boot(ctx context.Context) (hub.Boot, error) {
	var b hub.Boot
	err := s.do(ctx, func(c *conn) (error, error) {
		if err := errors.Join(c.pruneAnswers(time.Now()), c.pruneClients(time.Now())); err != nil {
			return nil, err
		}
		var err error
		b.Seq, b.Reserved, err = c.reserve(s.cfg.SeqBlock)
		return nil, err
	})
	if err != nil {
		return hub.Boot{}, err
	}
	b.Channels = s.catalogue.boot()
	b.Answered, err = s.answered(ctx)
	return b, err
}

// reserve returns the end of the numbers reserved so far and makes a further
// block the program's.
func (c *conn) reserve(block int64) (from, to int64, err error) {
	rows, err := c.query("SELECT value FROM meta WHERE key='reserved'")
	if err != nil {
		return 0, 0, err
	}
	if err := scan(rows, func() error { return rows.Scan(&from) }); err != nil {
		return 0, 0, err
	}
	_, err = c.exec(sqlReserve, from+block)
	return from, from + block, err
}

func (c *conn) pruneAnswers(now time.Time) error {
	if _, err := c.exec("DELETE FROM answers WHERE at < ?", now.Add(-answersFor).UnixMicro()); err != nil {
		return err
	}
	_, err := c.exec("DELETE FROM answers WHERE seq <= (SELECT seq FROM answers ORDER BY seq DESC LIMIT 1 OFFSET ?)", keptAnswers)
	return err
}

// answered lists the client actions that are not to be run again, oldest first.
func (s *Store) answered(ctx context.Context) ([]hub.Answered, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT client, client_seq, seq, channel FROM answers ORDER BY seq")
	if err != nil {
		return nil, describe(err)
	}
	return scanAnswered(rows)
}

func scanAnswered(rows *sql.Rows) ([]hub.Answered, error) {
	var out []hub.Answered
	err := scan(rows, func() error {
		var a hub.Answered
		var client string
		err := rows.Scan(&client, &a.ClientSeq, &a.Seq, &a.Channel)
		a.Principal, a.ClientID = splitClientKey(client)
		out = append(out, a)
		return err
	})
	return out, describe(err)
}
