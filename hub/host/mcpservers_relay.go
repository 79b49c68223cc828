package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// An agent reaches a session's MCP servers through the host: one process serves host and agent, what is stopped is gone
// for the agent at once, and no variable or token of a server is handed on.

// Relay is one MCP server as the agent of one session reaches it. It lasts as long as the agent's Toolbox.
type Relay struct {
	Name string

	box *Toolbox
	v   *mcpServer
	key tokenKey
}

// Relay finds the server that a token opens.
func (h *Host) Relay(token string) (*Relay, bool) {
	h.tools.mu.Lock()
	defer h.tools.mu.Unlock()
	r := h.tools.relays[sha256.Sum256([]byte(token))]
	return r, r != nil && r.box.ctx.Err() == nil
}

// Context ends with the agent.
func (r *Relay) Context() context.Context { return r.box.ctx }

// Session is the one whose agent this is for.
func (r *Relay) Session() ahp.URI { return r.box.l.uri }

// Conn is the connection with the server now, nil while it does not run; changed is closed when that, or what the server
// has, may be another.
func (r *Relay) Conn() (conn ServerConn, changed <-chan struct{}) {
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	if r.v.run != nil {
		conn = r.v.run.conn
	}
	return conn, r.v.changed
}

// Tools are those the server has, by the server's own names; none while it does not run.
func (r *Relay) Tools() []ahp.ToolDefinition {
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	return r.v.tools
}

// served is a server that an agent is to be given, and the name it is given by.
type served struct {
	name string
	v    *mcpServer
}

// toServe lists the servers of a session that are on and may run, each by a name that is there once.
func (h *Host) toServe(session ahp.URI) (list []served) {
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	if !ok || h.cfg.Customize.Servers == nil {
		return nil
	}
	taken := map[string]bool{"ahphub": true}
	listedServers(s, func(m *ahp.McpServerCustomization, on bool) {
		v := h.serverOf(session, m.ID)
		if v == nil || !on || v.entry.Command == nil || !h.customs.trusts(v) || len(list) >= mostServers {
			return
		}
		name := m.Name
		for k := 2; taken[name]; k++ {
			name = m.Name + "-" + strconv.Itoa(k)
		}
		taken[name] = true
		list = append(list, served{name, v})
	})
	return list
}

// giveServers starts the session's servers for an agent that uses them, waits until none holds back messages any more, and
// says how the agent reaches each.
func (l *live) giveServers(b agent.Backend) (out []agent.MCPServer) {
	h := l.h
	if u, ok := b.(agent.ToolUser); !ok || !u.UsesTools() || h.cfg.ToolServers == nil || h.cfg.Customize.Library == nil {
		return nil
	}
	h.customizeNow(l.ctx, l.uri)
	list := h.toServe(l.uri)
	var wg sync.WaitGroup
	for _, s := range list {
		if r := h.startServer(l.uri, s.v, true); r != nil {
			wg.Go(func() { awaitServer(l.ctx, r) })
		}
		if m, ok := l.relay(s); ok {
			out = append(out, m)
		}
	}
	wg.Wait()
	return out
}

func awaitServer(ctx context.Context, r *serverRun) {
	t := time.NewTimer(serverBlock)
	defer t.Stop()
	select {
	case <-r.ready:
	case <-r.over:
	case <-t.C:
	case <-ctx.Done():
	}
}

// relay makes a token for one server. The toolbox was made before.
func (l *live) relay(s served) (agent.MCPServer, bool) {
	l.mu.Lock()
	box := l.tools
	l.mu.Unlock()
	if box == nil {
		return agent.MCPServer{}, false
	}
	token := rand.Text() + rand.Text()
	all := &l.h.tools
	r := &Relay{Name: s.name, box: box, v: s.v, key: sha256.Sum256([]byte(token))}
	all.mu.Lock()
	if all.relays == nil {
		all.relays = map[tokenKey]*Relay{}
	}
	all.relays[r.key] = r
	box.relays = append(box.relays, r)
	all.mu.Unlock()
	m := l.h.cfg.ToolServers(token)[0]
	m.Name = s.name
	return m, true
}

// servesOthers reports whether the agent that is open was given other servers than these.
func (l *live) servesOthers(list []served) bool {
	l.mu.Lock()
	box, open := l.tools, l.agent != nil
	l.mu.Unlock()
	if box == nil || !open {
		return false
	}
	l.h.tools.mu.Lock()
	defer l.h.tools.mu.Unlock()
	return !slices.EqualFunc(box.relays, list, func(r *Relay, s served) bool { return r.v == s.v && r.Name == s.name })
}

// reopenAgent has the agent opened anew: now when it has nothing to do, else once its turn is over.
func (h *Host) reopenAgent(session ahp.URI) {
	l := h.liveIf(session)
	if l == nil {
		return
	}
	if _, ok := h.cfg.Agents[h.providerOf(session)].(agent.ToolUser); !ok {
		return
	}
	l.mu.Lock()
	l.stale = true
	l.mu.Unlock()
	h.dropStale(session)
}

// dropStale closes an agent that is to be opened anew, unless it is busy.
func (h *Host) dropStale(session ahp.URI) {
	l := h.liveIf(session)
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
