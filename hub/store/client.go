package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// clientBucket holds what is remembered of AHP clients, by clientKey. A record
// that the timeline puts there begins the client's sequence numbers anew: what
// it was answered in its earlier life is forgotten with it.
const clientBucket = "client"

const (
	clientsFor  = 7 * 24 * time.Hour // without a visit
	keptClients = 10_000
)

// clientKey names a client: a clientId alone would let one principal answer for
// another. A principal's id holds no line break.
func clientKey(principal, clientID string) string { return principal + "\n" + clientID }

func splitClientKey(key string) (principal, clientID string) {
	principal, clientID, _ = strings.Cut(key, "\n")
	return principal, clientID
}

// ClientRecord is what the timeline records when a client initializes. Its
// earlier sequence numbers are forgotten, in order with its actions.
func (s *Store) ClientRecord(principal, clientID string, v []byte) hub.Record {
	return hub.Record{Bucket: clientBucket, Key: clientKey(principal, clientID), Value: v}
}

// Client reads what was recorded of a client in the last seven days, and keeps
// it for as long again.
func (s *Store) Client(ctx context.Context, principal, clientID string) ([]byte, bool, error) {
	key := clientKey(principal, clientID)
	var v []byte
	var at int64
	err := s.read.QueryRowContext(ctx, "SELECT at, value FROM docs WHERE bucket=? AND key=?", clientBucket, key).Scan(&at, &v)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	age := time.Since(time.UnixMicro(at))
	if err != nil || age > clientsFor {
		return nil, false, describe(err)
	}
	if age > clientsFor/7 {
		err = s.Put(ctx, clientBucket, key, v)
	}
	return v, err == nil, err
}

func (c *conn) pruneClients(now time.Time) error {
	if _, err := c.exec("DELETE FROM docs WHERE bucket=? AND at<?", clientBucket, now.Add(-clientsFor).UnixMicro()); err != nil {
		return err
	}
	_, err := c.exec(`DELETE FROM docs WHERE bucket=?1 AND at <=
		(SELECT at FROM docs WHERE bucket=?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)`, clientBucket, keptClients)
	return err
}
