package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Limits of the record of answered client actions, which survives restarts: age and number, and at
// startup the most recently active clients.
const (
	answersFor    = 7 * 24 * time.Hour
	keptAnswers   = 50_000
	bootedClients = 2048
	pruneFirst    = time.Minute
	pruneEvery    = time.Hour
)

// prune deletes clients and answers beyond their limits; at is in microseconds.
func (p *plan) prune(at int64) {
	p.add("DELETE FROM answers WHERE at < ?", at-answersFor.Microseconds())
	p.add("DELETE FROM answers WHERE seq <= (SELECT seq FROM answers ORDER BY seq DESC LIMIT 1 OFFSET ?)", keptAnswers)
	p.pruneClients(at)
}

// keepPruning prunes soon after the start, and regularly after that.
func (s *Store) keepPruning(ctx context.Context, h *hub.Hub) {
	due := time.NewTimer(pruneFirst)
	defer due.Stop()
	for {
		select {
		case <-due.C:
			_ = h.Do((*hub.Tx).Prune) // if the host is read-only, the next run prunes
			due.Reset(pruneEvery)
		case <-ctx.Done():
			return
		}
	}
}

// answered lists the client actions that must not run again, oldest first.
func (s *Store) answered(ctx context.Context) ([]hub.Answered, error) {
	rows, err := s.read.QueryContext(ctx,
		"SELECT client, client_seq, seq, channel FROM answers WHERE at >= ? ORDER BY seq DESC LIMIT ?",
		time.Now().Add(-answersFor).UnixMicro(), keptAnswers)
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
