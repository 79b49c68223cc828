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

// clientBucket holds what is remembered of AHP clients, by clientKey. A record
// that the timeline puts there begins the client's sequence numbers anew: what
// it was answered in its earlier life is forgotten with it.
const clientBucket = "client"

// seenBucket holds nothing: a record there makes the client's own record as new as it is.
const seenBucket = "client-seen"

// bindingBuckets hold whose a clientId is, each for the principals of one rank: however many clients guests name,
// those of people with an account are kept.
var bindingBuckets = []string{"client-of-guest", "client-of-person", "client-of-owner"}

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

// SeenRecord is what the timeline records when a client comes back: it is remembered for another seven days.
func (s *Store) SeenRecord(principal, clientID string) hub.Record {
	return hub.Record{Bucket: seenBucket, Key: clientKey(principal, clientID), Value: []byte{}}
}

// Client reads what was recorded of a client in the last seven days.
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

// BindingRecord is what the timeline records when a clientId begins to belong to a principal of a rank, or does so for
// another seven days.
func (s *Store) BindingRecord(clientID string, rank int, v []byte) hub.Record {
	return hub.Record{Bucket: bindingBuckets[rank], Key: clientID, Value: v}
}

// Binding reads what was recorded of a clientId in the last seven days: for the highest rank, where there are several.
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
