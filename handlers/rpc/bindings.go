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

// The protocol names a client by its clientId alone: in echoes, claims of terminals, tool calls and the files it serves.
// So a clientId belongs to one principal, from its first visit until seven days after its last, also over a restart.
// Another principal is refused, unless they stand above the one that has it: a guest cannot keep the owner out.

// binding says whose a clientId is.
type binding struct {
	Principal string `json:"principal"`
	Rank      int    `json:"rank"`

	seen time.Time // when it was last written down
}

// Ranks of principals: the higher one takes a clientId from the lower.
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

// bindings knows whose each clientId is.
type bindings struct {
	store ClientStore // nil: they are known in memory alone
	hub   *hub.Hub
	log   *slog.Logger
	evict func(principal, clientID string) // ends what the client has open and is listed in

	mu    sync.Mutex // held from looking a clientId up until its connection is made
	known map[string]binding
}

const (
	boundFor = 7 * 24 * time.Hour // without a visit
	rebind   = time.Hour          // how old what is written down may be when the client leaves: its seven days begin then
)

// connect makes the connection of a client, by open, once its id is bound to its principal.
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
		b.log.Info("a clientId goes to a principal above the one that had it", "client", id, "from", has.Principal, "to", p)
		b.evict(has.Principal, id)
	}
	if err := open(); err != nil {
		return err
	}
	b.bind(id, binding{Principal: p.ID, Rank: rankOf(p)}, has)
	return nil
}

// left begins the seven days of a client that goes.
func (b *bindings) left(p access.Principal, id string) {
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

// bind writes down whose a clientId is, when that is new or was written long ago; b.mu is held.
func (b *bindings) bind(id string, now, had binding) {
	if now.Principal == had.Principal && now.Rank == had.Rank && time.Since(had.seen) <= rebind {
		return
	}
	if len(b.known) >= maxClients {
		for old := range b.known { // any: the store has them all
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
		b.log.Warn("whose a clientId is will be forgotten at a restart", "client", id, "err", err)
	}
}
