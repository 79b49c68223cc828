package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// clientBucket holds the records of AHP clients, by clientKey. Writing a record resets the client's
// sequence numbers and deletes its earlier answers.
const clientBucket = "client"

// seenBucket stores nothing: a record in it renews the client's own record.
const seenBucket = "client-seen"

// bindingBuckets store which principal a clientId belongs to, one bucket per rank: however many
// clientIds guests use, those of people with an account are kept.
var bindingBuckets = []string{"client-of-guest", "client-of-person", "client-of-owner"}

const (
	clientsFor  = 7 * 24 * time.Hour // without a visit
	keptClients = 10_000
)

// clientKey identifies a client. It includes the principal, so that no principal can use another's
// record. A principal's id has no line break.
func clientKey(principal, clientID string) string { return principal + "\n" + clientID }

func splitClientKey(key string) (principal, clientID string) {
	principal, clientID, _ = strings.Cut(key, "\n")
	return principal, clientID
}

// ClientRecord returns the record to write when a client initializes. It deletes the client's
// earlier sequence numbers, in order with its actions.
func (s *Store) ClientRecord(principal, clientID string, v []byte) hub.Record {
	return hub.Record{Bucket: clientBucket, Key: clientKey(principal, clientID), Value: v}
}

// SeenRecord returns the record to write when a client reconnects: it keeps the client for another
// seven days.
func (s *Store) SeenRecord(principal, clientID string) hub.Record {
	return hub.Record{Bucket: seenBucket, Key: clientKey(principal, clientID), Value: []byte{}}
}

// Client reads a client's record if it is at most seven days old.
func (s *Store) Client(ctx context.Context, principal, clientID string) ([]byte, bool, error) {
	key := clientKey(principal, clientID)
	var v []byte
	var at int64
	err := s.read.QueryRowContext(ctx, "SELECT at, value FROM docs WHERE bucket=? AND key=?", clientBucket,
		key).Scan(&at, &v)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil || time.Since(time.UnixMicro(at)) > clientsFor {
		return nil, false, describe(err)
	}
	return v, true, nil
}

// BindingRecord returns the record that binds a clientId to a principal of a rank for seven days,
// or renews the binding.
func (s *Store) BindingRecord(clientID string, rank int, v []byte) hub.Record {
	return hub.Record{Bucket: bindingBuckets[rank], Key: clientID, Value: v}
}

// Binding reads a clientId's binding of the last seven days; of several, the one with the highest
// rank.
func (s *Store) Binding(ctx context.Context, clientID string) ([]byte, bool, error) {
	for _, bucket := range slices.Backward(bindingBuckets) {
		var v []byte
		err := s.read.QueryRowContext(ctx, "SELECT value FROM docs WHERE bucket=? AND key=? AND at>=?",
			bucket, clientID, time.Now().Add(-clientsFor).UnixMicro()).Scan(&v)
		if !errors.Is(err, sql.ErrNoRows) {
			return v, err == nil, describe(err)
		}
	}
	return nil, false, nil
}

func (p *plan) pruneClients(at int64) {
	for _, bucket := range append([]string{clientBucket}, bindingBuckets...) {
		p.add("DELETE FROM docs WHERE bucket=? AND at<?", bucket, at-clientsFor.Microseconds())
		p.add(`DELETE FROM docs WHERE bucket=?1 AND at <=
			(SELECT at FROM docs WHERE bucket=?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)`, bucket, keptClients)
	}
}
