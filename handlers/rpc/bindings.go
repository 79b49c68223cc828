package rpc

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// The protocol names a client by its clientId alone: in echoes, claims of terminals, tool calls and
// the files it serves. A clientId therefore belongs to one principal, from its first connection
// until seven days after its last, also across restarts. Other principals are refused, unless they
// rank above the owner of the id: a guest cannot keep the owner of the hub out.

// binding is the owner of a clientId.
type binding struct {
	Principal string `json:"principal"`
	Rank      int    `json:"rank"`

	seen time.Time // when it was last written
}

// Ranks of principals: a higher one takes a clientId from a lower one.
const (
	rankGuest = iota
	rankAccount
	rankOwner
)

func rankOf(p access.Principal) int {
	switch {
	case p.Role == access.RoleOwner:
		return rankOwner
	case p.HasAccount():
		return rankAccount
	}
	return rankGuest
}

// bindings maps clientIds to their owners.
type bindings struct {
	store ClientStore // nil: kept in memory only
	hub   *hub.Hub
	log   *slog.Logger
	evict func(principal, clientID string) // ends the client's connection and its entries in sessions

	mu    sync.Mutex // held from the lookup of a clientId until its connection is made
	known map[string]binding
}

const (
	boundFor = 7 * 24 * time.Hour // since the last connection
	rebind   = time.Hour          // maximal age of a record when the client leaves: its seven days start then
)

// connect opens a client's connection by calling open, once its id is bound to its principal.
func (b *bindings) connect(ctx context.Context, p access.Principal, id string, open func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	has, found, err := b.find(ctx, id)
	if err != nil {
		return err
	}
	if found && has.Principal != p.ID {
		if has.Rank >= rankOf(p) {
			return hub.ErrClientTaken
		}
		b.log.Info("a principal of higher rank takes a clientId", "client", id, "from", has.Principal, "to", p)
		b.evict(has.Principal, id)
	}
	if err := open(); err != nil {
		return err
	}
	b.bind(id, binding{Principal: p.ID, Rank: rankOf(p)}, has)
	return nil
}

// markLeft starts the seven days of a client that disconnects.
func (b *bindings) markLeft(p access.Principal, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if has := b.known[id]; has.Principal == p.ID && time.Since(has.seen) > rebind {
		b.bind(id, has, has)
	}
}

func (b *bindings) find(ctx context.Context, id string) (has binding, found bool, err error) {
	if has, found = b.known[id]; found || b.store == nil {
		return has, found && time.Since(has.seen) < boundFor, nil
	}
	raw, found, err := b.store.Binding(ctx, id)
	if err != nil || !found {
		return has, false, err
	}
	return has, json.Unmarshal(raw, &has) == nil && has.Principal != "", nil
}

// bind records the owner of a clientId, if it is new or the record is old; b.mu is held.
func (b *bindings) bind(id string, now, had binding) {
	if now.Principal == had.Principal && now.Rank == had.Rank && time.Since(had.seen) <= rebind {
		return
	}
	if len(b.known) >= maxClients {
		for old := range b.known { // any one: the store has them all
			delete(b.known, old)
			break
		}
	}
	now.seen = time.Now()
	b.known[id] = now
	if b.store == nil {
		return
	}
	raw, err := ahp.Marshal(now)
	if err == nil {
		r := b.store.BindingRecord(id, now.Rank, raw)
		err = b.hub.Do(func(tx *hub.Tx) { tx.Record(r.Bucket, r.Key, r.Value) })
	}
	if err != nil {
		b.log.Warn("cannot save the owner of a clientId; a restart will forget it", "client", id, "err", err)
	}
}
