package customs

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// Served is an MCP server for an agent, and its name there. Values with the same server and name
// are equal.
type Served struct {
	Name   string
	server *mcpServer
}

// Conn returns the connection to the server, nil if it is not running. changed is closed when the
// connection or the server's tools may have changed.
func (s Served) Conn() (conn machine.ServerConn, changed <-chan struct{}) {
	v := s.server
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.run != nil {
		conn = v.run.conn
	}
	return conn, v.changed
}

// Tools returns the server's tools under its own names, or none if it is not running.
func (s Served) Tools() []ahp.ToolDefinition {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.server.tools
}

// listServed returns a session's servers that are enabled and may run, each with a unique name.
func (p *Part) listServed(session ahp.URI) (list []Served) {
	s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok || p.cfg.Customs == nil {
		return nil
	}
	taken := map[string]bool{"ahphub": true}
	eachServer(s, func(m *ahp.McpServerCustomization, on bool) {
		v := p.findServer(session, m.ID)
		if v == nil || !on || v.entry.Command == nil || !p.registry.mayRun(v) || len(list) >= maxServers {
			return
		}
		name := m.Name
		for k := 2; taken[name]; k++ {
			name = m.Name + "-" + strconv.Itoa(k)
		}
		taken[name] = true
		list = append(list, Served{name, v})
	})
	return list
}

// StartServers starts a session's servers for its agent, waits until none of them blocks messages,
// and returns them.
func (p *Part) StartServers(ctx context.Context, session ahp.URI) []Served {
	if p.cfg.Customs == nil {
		return nil
	}
	p.RefreshNow(ctx, session)
	list := p.listServed(session)
	var wg sync.WaitGroup
	for _, s := range list {
		if r := p.startServer(session, s.server, true); r != nil {
			wg.Go(func() { awaitServer(ctx, r) })
		}
	}
	wg.Wait()
	return list
}

// awaitServer waits until a server no longer blocks messages.
func awaitServer(ctx context.Context, r *serverRun) {
	t := time.NewTimer(blockTimeout)
	defer t.Stop()
	select {
	case <-r.ready:
	case <-r.over:
	case <-t.C:
	case <-ctx.Done():
	}
}
