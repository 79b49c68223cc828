package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// activeClients knows which clients offer tools in which sessions, and how long those that
// left may be gone (AHP requirements 137 to 139).
type activeClients struct {
	mu      sync.Mutex
	stopped bool
	in      map[string]map[ahp.URI]*time.Timer // clientId → session → its grace time, nil while present
}

func (c *activeClients) joined(session ahp.URI, client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in == nil {
		c.in = map[string]map[ahp.URI]*time.Timer{}
	}
	if c.in[client] == nil {
		c.in[client] = map[ahp.URI]*time.Timer{}
	}
	stopTimer(c.in[client][session])
	c.in[client][session] = nil
}

func (c *activeClients) left(session ahp.URI, client string) {
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

// note follows the session's list.
func (c *activeClients) note(session ahp.URI, a ahp.Action) {
	switch a := a.(type) {
	case *ahp.SessionActiveClientSetAction:
		c.joined(session, a.ActiveClient.ClientID)
	case *ahp.SessionActiveClientRemovedAction:
		c.left(session, a.ClientID)
	}
}

func (c *activeClients) sessions(client string) (list []ahp.URI) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.in[client] {
		list = append(list, s)
	}
	return list
}

// grace gives a client that went some time to come back.
func (c *activeClients) grace(h *Host, session ahp.URI, client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, here := c.in[client][session]; !here || t != nil || c.stopped {
		return
	}
	c.in[client][session] = time.AfterFunc(h.cfg.Limits.ClientGrace, func() { h.removeClient(session, client) })
}

// found is a client listed by a session that was loaded: it counts as gone until it speaks.
func (c *activeClients) found(h *Host, session ahp.URI, client string) {
	c.mu.Lock()
	_, here := c.in[client][session]
	c.mu.Unlock()
	if !here {
		c.joined(session, client)
		c.grace(h, session, client)
	}
}

func (c *activeClients) back(client string, sessions []ahp.URI) {
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
// is read-only it waits there.
func (h *Host) removeClient(session ahp.URI, client string) {
	h.clients.left(session, client) // also when the session is gone or asleep
	h.lanes.add(h.ctx, session, func(ctx context.Context) {
		err := h.do(ctx, func(tx *hub.Tx) {
			tx.Apply(session, &ahp.SessionActiveClientRemovedAction{ClientID: client})
		})
		if err != nil {
			h.log.Warn("a client that left is still listed", "session", session, "client", client, "err", err)
		}
	})
}

// Unsubscribed tells the host that a client no longer follows a channel: from a session it
// offered tools to, it is removed (AHP requirement 137).
func (h *Host) Unsubscribed(c Caller, uri ahp.URI) {
	if contains(h.clients.sessions(c.ClientID), uri) {
		h.removeClient(uri, c.ClientID)
	}
	h.leaveWatches(c.ClientID, uri)
}

// Disconnected tells the host that a client's connection ended and no newer one took its place.
func (h *Host) Disconnected(c Caller) {
	for _, s := range h.clients.sessions(c.ClientID) {
		h.clients.grace(h, s, c.ClientID)
	}
	h.leaveWatches(c.ClientID)
	h.leaveTerminals(c.ClientID)
}

// Reconnected tells the host which channels a client follows again: it stays in those
// sessions and leaves the others (AHP requirement 139).
func (h *Host) Reconnected(c Caller, uris []ahp.URI) {
	h.clients.back(c.ClientID, uris)
	for _, s := range h.clients.sessions(c.ClientID) {
		if !contains(uris, s) {
			h.removeClient(s, c.ClientID)
		}
	}
}

// checkActiveClientSet lets a client speak for itself alone, with tool names of which each is
// there once and none is the host's. Two windows of one editor offer the same tools: their
// names are made different for the agent, where it is given them (AHP requirement 144).
func checkActiveClientSet(r *request, s *ahp.SessionState, a *ahp.SessionActiveClientSetAction) string {
	me := a.ActiveClient.ClientID
	if me == "" || me != r.caller.ClientID {
		return "a client can only announce itself: activeClient.clientId must be its own clientId"
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
	return ""
}

func checkActiveClientRemoved(r *request, _ *ahp.SessionState, a *ahp.SessionActiveClientRemovedAction) string {
	if a.ClientID != r.caller.ClientID && !r.caller.owner() {
		return "a client can only remove itself"
	}
	return ""
}

// activeClientRemoved makes the running calls of a client that left fail (AHP requirement 140).
func (h *Host) activeClientRemoved(ctx context.Context, e *hub.Envelope, a *ahp.SessionActiveClientRemovedAction) {
	h.clientsChanged(e.Channel.URI)
	h.recustomize(e.Channel.URI)
	st, _, _ := h.hub.State(e.Channel.URI)
	s, ok := st.(*ahp.SessionState)
	if !ok {
		return
	}
	_ = h.do(ctx, func(tx *hub.Tx) { // fails only when the host stops, and that ends the turns too
		for _, r := range s.InputNeeded {
			call, ok := r.Value.(*ahp.SessionToolClientExecutionRequest)
			if ok && call.ClientID == a.ClientID {
				tx.Apply(call.Chat, &ahp.ChatToolCallCompleteAction{TurnID: call.TurnID, ToolCallID: call.ToolCall.ToolCallID, Result: gone})
			}
		}
	})
}

var gone = ahp.ToolCallResult{PastTenseMessage: ahp.Plain("The client left before it answered"),
	Error: &ahp.ToolCallError{Message: "the client that offered this tool is gone", Code: "client-gone"}}
