package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/customs"
)

// Agents reach a session's MCP servers through the host: both share one process, a stopped server
// is gone at once, and agents do not learn a server's variables or tokens.

// Relay gives the agent of a session access to one MCP server, for as long as the agent's Toolbox
// exists.
type Relay struct {
	customs.Served

	box *Toolbox
	key tokenKey
}

// Relay returns the server that a token gives access to.
func (h *Host) Relay(token string) (*Relay, bool) {
	h.tools.mu.Lock()
	defer h.tools.mu.Unlock()
	r := h.tools.relays[sha256.Sum256([]byte(token))]
	return r, r != nil && r.box.ctx.Err() == nil
}

// Context returns a context that ends with the agent.
func (r *Relay) Context() context.Context { return r.box.ctx }

// Session returns the session whose agent uses the relay.
func (r *Relay) Session() ahp.URI { return r.box.l.uri }

// giveServers starts the session's servers for an agent that uses them, and returns how to reach
// each.
func (l *sessionRuntime) giveServers(b agent.Backend) (out []agent.MCPServer) {
	if u, ok := b.(agent.ToolUser); !ok || !u.UsesTools() || l.h.cfg.ToolServers == nil {
		return nil
	}
	for _, s := range l.h.Customs.StartServers(l.ctx, l.uri) {
		if m, ok := l.relay(s); ok {
			out = append(out, m)
		}
	}
	return out
}

// UsesServers reports whether an agent gets a session's MCP servers.
func (h *Host) UsesServers(provider string) bool {
	return h.agents.UsesServers(provider)
}

// relay creates a token for one server. giveTools must be called before.
func (l *sessionRuntime) relay(s customs.Served) (agent.MCPServer, bool) {
	l.mu.Lock()
	box := l.tools
	l.mu.Unlock()
	if box == nil {
		return agent.MCPServer{}, false
	}
	token := rand.Text() + rand.Text()
	all := &l.h.tools
	r := &Relay{Served: s, box: box, key: sha256.Sum256([]byte(token))}
	all.mu.Lock()
	if all.relays == nil {
		all.relays = map[tokenKey]*Relay{}
	}
	all.relays[r.key] = r
	box.relays = append(box.relays, r)
	all.mu.Unlock()
	m := l.h.cfg.ToolServers(token)[0]
	m.Name = s.Name
	return m, true
}

// servesOthers reports whether the open agent has other servers than list.
func (l *sessionRuntime) servesOthers(list []customs.Served) bool {
	l.mu.Lock()
	box, open := l.tools, l.agent != nil
	l.mu.Unlock()
	if box == nil || !open {
		return false
	}
	l.h.tools.mu.Lock()
	defer l.h.tools.mu.Unlock()
	return !slices.EqualFunc(box.relays, list, func(r *Relay, s customs.Served) bool { return r.Served == s })
}

// handleServersChanged reopens a session's agent if it has other servers than list.
func (h *Host) handleServersChanged(session ahp.URI, list []customs.Served) {
	if l := h.turns.findRuntime(session); l != nil && l.servesOthers(list) {
		h.reopenAgent(session)
	}
}

// reopenAgent reopens the agent: now if it is idle, otherwise after its turn.
func (h *Host) reopenAgent(session ahp.URI) {
	l := h.turns.findRuntime(session)
	if l == nil {
		return
	}
	if !h.UsesServers(h.providerOf(session)) {
		return
	}
	l.mu.Lock()
	l.stale = true
	l.mu.Unlock()
	h.dropStale(session)
}

// dropStale closes an agent that is to be reopened, unless it is busy.
func (h *Host) dropStale(session ahp.URI) {
	l := h.turns.findRuntime(session)
	if l == nil {
		return
	}
	l.mu.Lock()
	stale := l.stale
	l.mu.Unlock()
	if stale {
		h.dropIdle(session)
	}
}

func (h *Host) providerOf(session ahp.URI) string {
	if e := h.core.Catalogue.Alive(session); e != nil {
		return e.Summary.Provider
	}
	return ""
}
