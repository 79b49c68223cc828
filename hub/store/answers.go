package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Which client actions are known to be answered over a restart is bounded by
// age and number, and at a start by the clients that acted last.
const (
	answersFor    = 7 * 24 * time.Hour
	keptAnswers   = 50_000
	bootedClients = 2048
	pruneEvery    = time.Hour
)

// prune forgets clients and answers that are past their bounds.
func (c *conn) prune(now time.Time) error {
	_, err := c.exec("DELETE FROM answers WHERE at < ?", now.Add(-answersFor).UnixMicro())
	_, err2 := c.exec("DELETE FROM answers WHERE seq <= (SELECT seq FROM answers ORDER BY seq DESC LIMIT 1 OFFSET ?)", keptAnswers)
	return errors.Join(err, err2, c.pruneClients(now))
}

// janitor prunes while the program runs.
func (s *Store) janitor(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if err := s.do(ctx, func(c *conn) (error, error) { return nil, c.prune(now) }); err != nil && ctx.Err() == nil {
				s.log.Warn("what is past its time was not removed", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// answered lists the client actions that are not to be run again, oldest first.
func (s *Store) answered(ctx context.Context) ([]hub.Answered, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT client, client_seq, seq, channel FROM answers ORDER BY seq DESC")
	if err != nil {
		return nil, describe(err)
	}
	out, err := scanAnswered(rows)
	slices.Reverse(out)
	return out, describe(err)
}

func scanAnswered(rows *sql.Rows) (out []hub.Answered, err error) {
	clients := map[string]bool{}
	err = scan(rows, func() error {
		var a hub.Answered
		var client string
		if err := rows.Scan(&client, &a.ClientSeq, &a.Seq, &a.Channel); err != nil {
			return err
		}
		if clients[client] || len(clients) < bootedClients {
			clients[client] = true
			a.Principal, a.ClientID = splitClientKey(client)
			out = append(out, a)
		}
		return nil
	})
	return out, err
}
