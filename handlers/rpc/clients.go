package rpc

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// client holds the parts of initialize that reconnect does not repeat.
type client struct {
	Version      string                  `json:"version"`
	Capabilities *ahp.ClientCapabilities `json:"capabilities,omitempty"`
}

type clientKey struct{ principal, id string }

// maxClients bounds the memory; the store keeps more, for seven days.
const maxClients = 4096

// clients is keyed by (principal, clientId): with the clientId alone one principal could take
// another's place.
type clients struct {
	store    ClientStore
	hub      *hub.Hub
	bindings bindings

	mu    sync.Mutex
	known map[clientKey]client
}

func newClients(cfg Config) *clients {
	return &clients{store: cfg.Clients, hub: cfg.Hub, known: map[clientKey]client{},
		bindings: bindings{store: cfg.Clients, hub: cfg.Hub, log: cfg.Log, known: map[string]binding{}}}
}

// initialized records a client that starts anew. The record goes through the timeline, so that it
// is between the actions of the client's earlier connection and those of the new one.
func (c *clients) initialized(k clientKey, cl client) error {
	c.put(k, cl)
	if c.store == nil {
		return nil
	}
	b, err := ahp.Marshal(cl)
	if err != nil {
		return err
	}
	r := c.store.ClientRecord(k.principal, k.id, b)
	return c.hub.Do(func(tx *hub.Tx) { tx.Record(r.Bucket, r.Key, r.Value) })
}

func (c *clients) put(k clientKey, cl client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxClients {
		for old := range c.known { // any one: the store has them all
			delete(c.known, old)
			break
		}
	}
	c.known[k] = cl
}

// find returns the record of a client.
func (c *clients) find(ctx context.Context, k clientKey) (cl client, found bool, err error) {
	c.mu.Lock()
	cl, found = c.known[k]
	c.mu.Unlock()
	if found || c.store == nil {
		return cl, found, nil
	}
	b, found, err := c.store.Client(ctx, k.principal, k.id)
	if err != nil || !found {
		return cl, false, err
	}
	if err := json.Unmarshal(b, &cl); err != nil {
		return cl, false, nil // written by another version of the program: the client must initialize
	}
	c.put(k, cl)
	r := c.store.SeenRecord(k.principal, k.id)
	// while the host is read-only, the record is not renewed
	_ = c.hub.Do(func(tx *hub.Tx) { tx.Record(r.Bucket, r.Key, r.Value) })
	return cl, true, nil
}
