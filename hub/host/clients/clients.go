package clients

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// bucketActive holds the principal of each client that a session lists, as the protocol identifies
// a client only by its id. The key is the session and the clientId, in two lines.
const bucketActive = "active-client"

// Config configures a Part.
type Config struct {
	// Changed is called after a session's clients or their tools changed, without the hub's lock.
	Changed func(session ahp.URI)
}

// Part tracks which clients offer tools in which sessions, and how long disconnected ones stay
// listed (AHP requirements 137 to 139).
type Part struct {
	core *core.Core
	cfg  Config

	mu      sync.Mutex
	stopped bool
	in      map[core.ClientRef]map[ahp.URI]*time.Timer // grace timer by session; nil while connected
	// the principal of each listed clientId, also in unloaded sessions
	of map[ahp.URI]map[string]string
}

// New returns a Part without clients.
func New(c *core.Core, cfg Config) *Part {
	return &Part{core: c, cfg: cfg, in: map[core.ClientRef]map[ahp.URI]*time.Timer{},
		of: map[ahp.URI]map[string]string{}}
}

// Recover loads the clients that sessions listed in the last run.
func (p *Part) Recover(ctx context.Context) error {
	if p.core.Store == nil {
		return nil
	}
	records, err := p.core.Store.Records(ctx, bucketActive)
	for _, r := range records {
		if session, id, ok := strings.Cut(r.Key, "\n"); ok {
			p.note(session, core.ClientRef{Principal: string(r.Value), ID: id})
		}
	}
	return err
}

func (p *Part) note(session ahp.URI, client core.ClientRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[session] == nil {
		p.of[session] = map[string]string{}
	}
	p.of[session][client.ID] = client.Principal
}

// Principal returns the principal of a client that a session lists.
func (p *Part) Principal(session ahp.URI, id string) (principal string, listed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	principal, listed = p.of[session][id]
	return principal, listed
}

// recordJoin records that a client is connected to a session that lists it.
func (p *Part) recordJoin(session ahp.URI, client core.ClientRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in[client] == nil {
		p.in[client] = map[ahp.URI]*time.Timer{}
	}
	stopTimer(p.in[client][session])
	p.in[client][session] = nil
}

// recordLeave records that a client is no longer connected to a session.
func (p *Part) recordLeave(session ahp.URI, client core.ClientRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stopTimer(p.in[client][session])
	delete(p.in[client], session)
	if len(p.in[client]) == 0 {
		delete(p.in, client)
	}
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// List records the principal of a client that a session now lists.
func (p *Part) List(tx *hub.Tx, session ahp.URI, client core.ClientRef) {
	if by, listed := p.Principal(session, client.ID); !listed || by != client.Principal {
		p.note(session, client)
		tx.Record(bucketActive, session+"\n"+client.ID, []byte(client.Principal))
	}
	p.recordJoin(session, client)
}

// Unlist removes a client from a session's record.
func (p *Part) Unlist(tx *hub.Tx, session ahp.URI, id string) {
	by, listed := p.Principal(session, id)
	if !listed {
		return
	}
	p.recordLeave(session, core.ClientRef{Principal: by, ID: id})
	p.mu.Lock()
	if delete(p.of[session], id); len(p.of[session]) == 0 {
		delete(p.of, session)
	}
	p.mu.Unlock()
	tx.Record(bucketActive, session+"\n"+id, nil)
}

// UnlistAll removes all clients of a removed session.
func (p *Part) UnlistAll(tx *hub.Tx, session ahp.URI) {
	p.mu.Lock()
	ids := slices.Collect(maps.Keys(p.of[session]))
	p.mu.Unlock()
	for _, id := range ids {
		p.Unlist(tx, session, id)
	}
}

// sessions returns the sessions that list a client.
func (p *Part) sessions(client core.ClientRef) (list []ahp.URI) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.in[client] {
		list = append(list, s)
	}
	return list
}

// startGrace starts the grace time of a disconnected client.
func (p *Part) startGrace(session ahp.URI, client core.ClientRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t, here := p.in[client][session]; !here || t != nil || p.stopped {
		return
	}
	p.in[client][session] = time.AfterFunc(p.core.Limits.ClientGrace, func() { p.remove(session, client) })
}

// Woken starts the grace time of a client that a loaded session lists. The client counts as
// disconnected until its next message.
func (p *Part) Woken(session ahp.URI, id string) {
	by, _ := p.Principal(session, id)
	client := core.ClientRef{Principal: by, ID: id}
	p.mu.Lock()
	_, here := p.in[client][session]
	p.mu.Unlock()
	if !here {
		p.recordJoin(session, client)
		p.startGrace(session, client)
	}
}

// stopGrace stops the grace time of a client in sessions that it resubscribed to.
func (p *Part) stopGrace(client core.ClientRef, sessions []ahp.URI) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range sessions {
		if t := p.in[client][s]; t != nil {
			t.Stop()
			p.in[client][s] = nil
		}
	}
}

// remove removes a client from a session's list, in the session's lane, where it waits while the
// host is read-only. It keeps a client with the same id of another principal.
func (p *Part) remove(session ahp.URI, client core.ClientRef) {
	p.recordLeave(session, client) // also if the session is gone or unloaded
	p.core.Lanes.Add(p.core.Ctx, session, func(ctx context.Context) {
		err := p.core.Do(ctx, func(tx *hub.Tx) {
			if by, _ := p.Principal(session, client.ID); by == client.Principal {
				tx.Apply(session, &ahp.SessionActiveClientRemovedAction{ClientID: client.ID})
			}
		})
		if err != nil {
			p.core.Log.Warn("a client that left is still listed", "session", session, "client", client.ID, "err", err)
		}
	})
}

// Close stops the timers, so that no more clients are removed.
func (p *Part) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, sessions := range p.in {
		for _, t := range sessions {
			stopTimer(t)
		}
	}
}

// Unsubscribed removes a client from a session that it unsubscribed from (AHP requirement 137).
func (p *Part) Unsubscribed(client core.ClientRef, uri ahp.URI) {
	if slices.Contains(p.sessions(client), uri) {
		p.remove(uri, client)
	}
}

// Disconnected starts the grace time of a disconnected client in all its sessions.
func (p *Part) Disconnected(client core.ClientRef) {
	for _, s := range p.sessions(client) {
		p.startGrace(s, client)
	}
}

// Reconnected keeps a client in the sessions that it resubscribed to, and removes it from the
// others (AHP requirement 139).
func (p *Part) Reconnected(client core.ClientRef, uris []ahp.URI) {
	p.stopGrace(client, uris)
	for _, s := range p.sessions(client) {
		if !slices.Contains(uris, s) {
			p.remove(s, client)
		}
	}
}

// Evict removes a client whose id another principal takes, and fails its calls, in the caller's
// step.
func (p *Part) Evict(tx *hub.Tx, client core.ClientRef) {
	for _, session := range p.sessions(client) {
		if s, ok := hub.StateOf[*ahp.SessionState](tx, session); ok {
			tx.Apply(session, &ahp.SessionActiveClientRemovedAction{ClientID: client.ID})
			failCalls(tx, s, client.ID)
		}
		p.recordLeave(session, client)
	}
}
