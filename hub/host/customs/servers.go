package customs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	startTimeout = time.Minute      // for a server to become ready
	blockTimeout = 20 * time.Second // how long new messages wait for that
	listTimeout  = 15 * time.Second // for a server to list its tools
	maxServers   = 16               // running at once per session
	maxTools     = 256              // shown per server
)

// ServerTool is a tool of an MCP server, for display.
type ServerTool struct{ Name, Title, Description string }

// mcpServer is an MCP server of a session, running or not.
type mcpServer struct {
	entry machine.CustomEntry
	place machine.CustomPlace

	mu      sync.Mutex // taken below all other locks
	state   ahp.McpServerStateValue
	run     *serverRun
	tools   []ahp.ToolDefinition
	changed chan struct{} // closed and replaced when conn or tools change
}

// serverRun is one run of a server.
type serverRun struct {
	cancel context.CancelFunc
	over   chan struct{}
	ready  chan struct{} // closed when new messages no longer wait for the server
	once   sync.Once
	conn   machine.ServerConn // guarded by mcpServer.mu; nil until the server is ready
}

func (r *serverRun) release() { r.once.Do(func() { close(r.ready) }) }

func newServer(e machine.CustomEntry, p machine.CustomPlace) *mcpServer {
	v := &mcpServer{entry: e, place: p, state: &ahp.McpServerStoppedState{}, changed: make(chan struct{})}
	if e.Problem != "" {
		v.state = failedState("declared", e.Name+" "+e.Problem)
	}
	return v
}

func failedState(kind, text string) *ahp.McpServerErrorState {
	return &ahp.McpServerErrorState{Error: ahp.ErrorInfo{ErrorType: kind, Message: text}}
}

func (v *mcpServer) now() ahp.McpServerState {
	v.mu.Lock()
	defer v.mu.Unlock()
	return ahp.McpServerState{Value: v.state}
}

// set sets the state and wakes waiters for the server's tools. over means that the run has ended.
func (v *mcpServer) set(s ahp.McpServerStateValue, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = s
	if over {
		v.run = nil
	}
	v.notifyChanged()
}

// notifyChanged wakes waiters. v.mu is held.
func (v *mcpServer) notifyChanged() {
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *mcpServer) running() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.run != nil
}

// stop ends the current run and waits for it.
func (v *mcpServer) stop() {
	v.mu.Lock()
	r := v.run
	v.mu.Unlock()
	if r != nil {
		r.cancel()
		<-r.over
	}
}

// findServer returns a session's server by its id, or nil.
func (p *Part) findServer(session ahp.URI, id string) *mcpServer {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.by[session]; n != nil {
		return n.servers[id]
	}
	return nil
}

func (p *Part) listServers(session ahp.URI) (list []*mcpServer) {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.by[session]; n != nil {
		for _, v := range n.servers {
			list = append(list, v)
		}
	}
	return list
}

// setServer publishes the state of a session's server (AHP requirement 199). The entry and the
// registry change together, under the hub's lock.
func (p *Part) setServer(session ahp.URI, v *mcpServer, s ahp.McpServerStateValue) {
	p.changeServer(session, v, s, false)
}

// changeServer is setServer. With over, the run ends in the same step, so that the next run is
// neither refused nor mistaken for this one.
func (p *Part) changeServer(session ahp.URI, v *mcpServer, s ahp.McpServerStateValue, over bool) {
	_ = p.core.Do(p.core.Ctx, func(tx *hub.Tx) { // fails only if the host stops
		v.set(s, over)
		tx.Apply(session, &ahp.SessionMcpServerStateChangedAction{ID: v.entry.ID, State: ahp.McpServerState{Value: s}})
		p.publishTools(tx, session)
	})
}

// startServer starts a server unless it is running. With blocking, new messages wait for it.
func (p *Part) startServer(session ahp.URI, v *mcpServer, blocking bool) *serverRun {
	v.mu.Lock()
	if v.run != nil || v.entry.Command == nil || p.cfg.Customs == nil {
		defer v.mu.Unlock()
		return v.run
	}
	ctx, cancel := context.WithCancel(p.core.Ctx)
	r := &serverRun{cancel: cancel, over: make(chan struct{}), ready: make(chan struct{})}
	v.run = r
	v.mu.Unlock()
	state := &ahp.McpServerStartingState{}
	if blocking {
		state.Blocking = ahp.Ptr(true)
	}
	p.setServer(session, v, state)
	p.core.Go(func() {
		defer close(r.over)
		defer cancel()
		p.runServer(ctx, session, v, r)
	})
	return r
}

// runServer runs a server until it or ctx ends.
func (p *Part) runServer(ctx context.Context, session ahp.URI, v *mcpServer, r *serverRun) {
	conn, err := p.dialServer(ctx, session, v)
	if err == nil {
		err = p.listTools(ctx, v, conn)
	}
	if err == nil {
		v.mu.Lock()
		r.conn = conn
		v.mu.Unlock()
		p.setServer(session, v, &ahp.McpServerReadyState{})
		r.release()
		err = p.followServer(ctx, session, v, conn)
	}
	v.mu.Lock()
	r.conn, v.tools = nil, nil
	v.notifyChanged()
	v.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	p.changeServer(session, v, endState(ctx, err), true)
	r.release()
}

// endState returns a server's state after a run.
func endState(ctx context.Context, err error) ahp.McpServerStateValue {
	if ctx.Err() != nil {
		return &ahp.McpServerStoppedState{}
	}
	if auth, ok := errors.AsType[*machine.ServerNeedsToken](err); ok {
		a := auth.Auth
		return &ahp.McpServerAuthRequiredState{
			Reason: a.Reason, Resource: a.Resource, RequiredScopes: a.RequiredScopes, Description: a.Description}
	}
	return failedState("server", texts.CutBytes(err.Error(), 2000))
}

func (p *Part) dialServer(ctx context.Context, session ahp.URI, v *mcpServer) (machine.ServerConn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it was not ready within %s", startTimeout))
	defer cancel()
	log := p.core.Log.With("session", session, "server", v.entry.Name)
	policy, err := p.cfg.Sandbox(ctx, session)
	if err != nil {
		return nil, err
	}
	conn, err := p.cfg.Customs.Dial(ctx, machine.ServerSpec{Sandbox: policy,
		Name: v.entry.Name, Command: *v.entry.Command, Token: p.findToken(v.entry.Command.URL),
		Stderr: func(text string) { log.Debug("an MCP server wrote to standard error", "stderr", text) },
	})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return conn, err
}

// followServer updates the tools until the connection or ctx ends, and returns the reason.
func (p *Part) followServer(ctx context.Context, session ahp.URI, v *mcpServer, conn machine.ServerConn) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-conn.Done():
			return cmp.Or(conn.Err(), errors.New("it closed the connection"))
		case <-conn.Changed():
			if err := p.listTools(ctx, v, conn); err != nil {
				p.core.Log.Warn("the tools of an MCP server cannot be listed",
					"session", session, "server", v.entry.Name, "err", err)
				continue
			}
			p.setServer(session, v, &ahp.McpServerReadyState{})
		}
	}
}

// listTools reads a server's tools.
func (p *Part) listTools(ctx context.Context, v *mcpServer, conn machine.ServerConn) error {
	if !conn.Has("tools") {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errors.New("it did not list its tools in time"))
	defer cancel()
	var tools []ahp.ToolDefinition
	for cursor := ""; ; {
		params, _ := json.Marshal(map[string]string{"cursor": cursor}) // a string always encodes
		if cursor == "" {
			params = json.RawMessage(`{}`)
		}
		raw, err := conn.Do(ctx, "tools/list", params)
		if err != nil {
			return err
		}
		var page struct {
			Tools      []ahp.ToolDefinition `json:"tools"`
			NextCursor string               `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return fmt.Errorf("its list of tools can't be read: %w", err)
		}
		tools = append(tools, page.Tools...)
		if cursor = page.NextCursor; cursor == "" || len(tools) >= maxTools {
			break
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tools = tools[:min(len(tools), maxTools)]
	return nil
}

// publishTools adds the tools of ready servers to the session's, each with its server's name as
// prefix (AHP requirement 144).
func (p *Part) publishTools(tx *hub.Tx, session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	var tools []ahp.ToolDefinition
	taken := map[string]bool{}
	eachServer(s, func(m *ahp.McpServerCustomization, _ bool) {
		v := p.findServer(session, m.ID)
		if _, ready := m.State.Value.(*ahp.McpServerReadyState); !ready || v == nil {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, t := range v.tools {
			t.Meta = newMeta("ahphub/server", m.ID)
			t.Name = uniqueName(m.Name+"__"+t.Name, taken)
			tools = append(tools, t)
		}
	})
	if len(tools)+len(s.ServerTools) > 0 && !equalTools(tools, s.ServerTools) {
		tx.Apply(session, &ahp.SessionServerToolsChangedAction{Tools: append([]ahp.ToolDefinition{}, tools...)})
	}
}

func uniqueName(name string, taken map[string]bool) string {
	base := name
	for k := 2; taken[name]; k++ {
		name = fmt.Sprintf("%s_%d", base, k)
	}
	taken[name] = true
	return name
}

func equalTools(a, b []ahp.ToolDefinition) bool {
	return slices.EqualFunc(a, b, func(x, y ahp.ToolDefinition) bool {
		p, _ := json.Marshal(x)
		q, _ := json.Marshal(y)
		return string(p) == string(q)
	})
}
