package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// bucketActive keeps which principal's client each session lists: the protocol names a client by its id alone. The key is
// the session and the clientId, in two lines.
const bucketActive = "active-client"

// activeClients knows which clients offer tools in which sessions, and how long those that
// left may be gone (AHP requirements 137 to 139).
type activeClients struct {
	mu      sync.Mutex
	stopped bool
	in      map[core.ClientRef]map[ahp.URI]*time.Timer // by session: its grace time, nil while present
	of      map[ahp.URI]map[string]string              // whose each clientId is that a session lists, asleep or not
}

// loadActiveClients reads whose the clients are that sessions listed when the host last stopped.
func (h *Host) loadActiveClients(ctx context.Context) error {
	if h.core.Store == nil {
		return nil
	}
	records, err := h.core.Store.Records(ctx, bucketActive)
	for _, r := range records {
		if session, id, ok := strings.Cut(r.Key, "\n"); ok {
			h.clients.list(session, core.ClientRef{Principal: string(r.Value), ID: id})
		}
	}
	return err
}

func (c *activeClients) list(session ahp.URI, client core.ClientRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[ahp.URI]map[string]string{}
	}
	if c.of[session] == nil {
		c.of[session] = map[string]string{}
	}
	c.of[session][client.ID] = client.Principal
}

// principal returns whose a client is that a session lists.
func (c *activeClients) principal(session ahp.URI, id string) (principal string, listed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	principal, listed = c.of[session][id]
	return principal, listed
}

func (c *activeClients) joined(session ahp.URI, client core.ClientRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in == nil {
		c.in = map[core.ClientRef]map[ahp.URI]*time.Timer{}
	}
	if c.in[client] == nil {
		c.in[client] = map[ahp.URI]*time.Timer{}
	}
	stopTimer(c.in[client][session])
	c.in[client][session] = nil
}

func (c *activeClients) left(session ahp.URI, client core.ClientRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stopTimer(c.in[client][session])
	delete(c.in[client], session)
	if len(c.in[client]) == 0 {
		delete(c.in, client)
	}
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// listClient notes whose the client is that a session lists from now on.
func (h *Host) listClient(tx *hub.Tx, session ahp.URI, client core.ClientRef) {
	if by, listed := h.clients.principal(session, client.ID); !listed || by != client.Principal {
		h.clients.list(session, client)
		tx.Record(bucketActive, session+"\n"+client.ID, []byte(client.Principal))
	}
	h.clients.joined(session, client)
}

func (h *Host) unlistClient(tx *hub.Tx, session ahp.URI, id string) {
	by, listed := h.clients.principal(session, id)
	if !listed {
		return
	}
	h.clients.left(session, core.ClientRef{Principal: by, ID: id})
	h.clients.mu.Lock()
	if delete(h.clients.of[session], id); len(h.clients.of[session]) == 0 {
		delete(h.clients.of, session)
	}
	h.clients.mu.Unlock()
	tx.Record(bucketActive, session+"\n"+id, nil)
}

// unlistClients forgets all clients of a session that is taken away.
func (h *Host) unlistClients(tx *hub.Tx, session ahp.URI) {
	h.clients.mu.Lock()
	ids := slices.Collect(maps.Keys(h.clients.of[session]))
	h.clients.mu.Unlock()
	for _, id := range ids {
		h.unlistClient(tx, session, id)
	}
}

func (c *activeClients) sessions(client core.ClientRef) (list []ahp.URI) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.in[client] {
		list = append(list, s)
	}
	return list
}

// grace gives a client that went some time to come back.
func (c *activeClients) grace(h *Host, session ahp.URI, client core.ClientRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, here := c.in[client][session]; !here || t != nil || c.stopped {
		return
	}
	c.in[client][session] = time.AfterFunc(h.core.Limits.ClientGrace, func() { h.removeClient(session, client) })
}

// found is a client listed by a session that was loaded: it counts as gone until it speaks.
func (c *activeClients) found(h *Host, session ahp.URI, id string) {
	by, _ := c.principal(session, id)
	client := core.ClientRef{Principal: by, ID: id}
	c.mu.Lock()
	_, here := c.in[client][session]
	c.mu.Unlock()
	if !here {
		c.joined(session, client)
		c.grace(h, session, client)
	}
}

func (c *activeClients) back(client core.ClientRef, sessions []ahp.URI) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range sessions {
		if t := c.in[client][s]; t != nil {
			t.Stop()
			c.in[client][s] = nil
		}
	}
}

func (c *activeClients) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, sessions := range c.in {
		for _, t := range sessions {
			stopTimer(t)
		}
	}
}

// removeClient takes a client off a session's list, in the session's lane: while the host
// is read-only it waits there. Another principal's client of the same id stays.
func (h *Host) removeClient(session ahp.URI, client core.ClientRef) {
	h.clients.left(session, client) // also when the session is gone or asleep
	h.core.Lanes.Add(h.core.Ctx, session, func(ctx context.Context) {
		err := h.core.Do(ctx, func(tx *hub.Tx) {
			if by, _ := h.clients.principal(session, client.ID); by == client.Principal {
				tx.Apply(session, &ahp.SessionActiveClientRemovedAction{ClientID: client.ID})
			}
		})
		if err != nil {
			h.core.Log.Warn("a client that left is still listed", "session", session, "client", client.ID, "err", err)
		}
	})
}

// Unsubscribed tells the host that a client no longer follows a channel: from a session it
// offered tools to, it is removed (AHP requirement 137).
func (h *Host) Unsubscribed(c core.Caller, uri ahp.URI) {
	if slices.Contains(h.clients.sessions(c.Ref()), uri) {
		h.removeClient(uri, c.Ref())
	}
	h.provisional.unsubscribed(uri, c.Ref())
	h.leaveWatches(c.Ref(), uri)
}

// Disconnected tells the host that a client's connection ended and no newer one took its place.
func (h *Host) Disconnected(c core.Caller) {
	for _, s := range h.clients.sessions(c.Ref()) {
		h.clients.grace(h, s, c.Ref())
	}
	h.leaveWatches(c.Ref())
	h.Terminals.Disconnected(c.ClientID)
}

// Reconnected tells the host which channels a client follows again: it stays in those
// sessions and leaves the others (AHP requirement 139).
func (h *Host) Reconnected(c core.Caller, uris []ahp.URI) {
	h.clients.back(c.Ref(), uris)
	for _, s := range h.clients.sessions(c.Ref()) {
		if !slices.Contains(uris, s) {
			h.removeClient(s, c.Ref())
		}
	}
}

// Evicted tells the host that another principal takes a client's id. What the id stands for anywhere ends before the new
// one is let in: it neither runs the tools of the old one nor types in its terminals.
func (h *Host) Evicted(principal, clientID string) {
	client := core.ClientRef{Principal: principal, ID: clientID}
	sessions := h.clients.sessions(client)
	err := h.core.Hub.Do(func(tx *hub.Tx) {
		for _, session := range sessions {
			if s, ok := hub.StateOf[*ahp.SessionState](tx, session); ok {
				tx.Apply(session, &ahp.SessionActiveClientRemovedAction{ClientID: clientID})
				failCalls(tx, s, clientID)
			}
			h.clients.left(session, client)
		}
		h.Terminals.Evict(tx, clientID)
	})
	if err != nil {
		h.core.Log.Warn("a client whose id another takes is still listed", "client", clientID, "of", principal, "err", err)
	}
}

// checkActiveClientSet lets a client speak for itself alone, with tool names of which each is
// there once and none is the host's. Two windows of one editor offer the same tools: their
// names are made different for the agent, where it is given them (AHP requirement 144).
func (h *Host) checkActiveClientSet(r *core.Request, s *ahp.SessionState, a *ahp.SessionActiveClientSetAction) string {
	me := a.ActiveClient.ClientID
	if me == "" || me != r.Caller.ClientID {
		return "a client can only announce itself: activeClient.clientId must be its own clientId"
	}
	if by, listed := h.clients.principal(r.Info.URI, me); listed && by != r.Caller.ID {
		return "this session lists a client of another participant under this clientId: choose another one, such as a new UUID"
	}
	taken := map[string]string{}
	for _, t := range s.ServerTools {
		taken[t.Name] = "the host"
	}
	for _, t := range a.ActiveClient.Tools {
		if t.Name == "" {
			return "a tool needs a name"
		}
		if by := taken[t.Name]; by != "" {
			return fmt.Sprintf("there is a tool %q of %s already: give yours another name", t.Name, by)
		}
		taken[t.Name] = "this client itself"
	}
	h.listClient(r.Tx, r.Info.URI, r.Caller.Ref())
	return ""
}

func (h *Host) checkActiveClientRemoved(r *core.Request, _ *ahp.SessionState, a *ahp.SessionActiveClientRemovedAction) string {
	by, listed := h.clients.principal(r.Info.URI, a.ClientID)
	if (a.ClientID != r.Caller.ClientID || listed && by != r.Caller.ID) && !r.Caller.IsOwner() {
		return "a client can only remove itself"
	}
	return ""
}

// activeClientRemoved makes the running calls of a client that left fail (AHP requirement 140).
func (h *Host) activeClientRemoved(ctx context.Context, e *hub.Envelope, a *ahp.SessionActiveClientRemovedAction) {
	h.clientsChanged(e.Channel.URI)
	h.recustomize(e.Channel.URI)
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, e.Channel.URI)
	if !ok {
		return
	}
	_ = h.core.Do(ctx, func(tx *hub.Tx) { // fails only when the host stops, and that ends the turns too
		failCalls(tx, s, a.ClientID)
	})
}

// failCalls ends the running calls of a client's tools.
func failCalls(tx *hub.Tx, s *ahp.SessionState, client string) {
	for _, r := range s.InputNeeded {
		call, ok := r.Value.(*ahp.SessionToolClientExecutionRequest)
		if ok && call.ClientID == client {
			tx.Apply(call.Chat, &ahp.ChatToolCallCompleteAction{TurnID: call.TurnID, ToolCallID: call.ToolCall.ToolCallID, Result: gone})
		}
	}
}

var gone = ahp.ToolCallResult{PastTenseMessage: ahp.Plain("The client left before it answered"),
	Error: &ahp.ToolCallError{Message: "the client that offered this tool is gone", Code: "client-gone"}}
