package store

import "strings"

// ClientBucket holds what is remembered of AHP clients, by ClientKey. A record
// that the timeline puts there begins the client's sequence numbers anew: what
// it was answered in its earlier life is forgotten with it. A document put
// there beside the timeline does not.
const ClientBucket = "client"

// ClientKey names a client: a clientId alone would let one principal answer for
// another. A principal's id holds no line break.
func ClientKey(principal, clientID string) string { return principal + "\n" + clientID }

func splitClientKey(key string) (principal, clientID string) {
	principal, clientID, _ = strings.Cut(key, "\n")
	return principal, clientID
}
