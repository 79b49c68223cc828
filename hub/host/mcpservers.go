package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/texts"
)

// ServerSpec says how an MCP server is reached; every placeholder is filled in.
type ServerSpec struct {
	Name    string
	Command custom.Command
	Token   string // shown to one that is reached by HTTP; "" is none
	Log     *slog.Logger
}

// ServerDialer starts MCP servers, or connects to them. An error that is a *ServerNeedsToken says that one wants to know
// who calls.
type ServerDialer interface {
	Dial(context.Context, ServerSpec) (ServerConn, error)
}

// ServerConn is a connection with an MCP server. It ends by itself with the server, or by Close, which waits until what
// was started is gone.
type ServerConn interface {
	// Do sends a request of the Model Context Protocol: parameters and result as they are on the wire.
	Do(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Has reports whether the server said that it has tools, resources, prompts, completions.
	Has(capability string) bool
	// Changed has something in it when the server's tools may be others.
	Changed() <-chan struct{}
	// Done is closed when the connection is over, and Err says why.
	Done() <-chan struct{}
	Err() error
	Close()
}

// ServerNeedsToken is the error of a server that wants a token.
type ServerNeedsToken struct{ Auth ahp.McpAuthRequirement }

func (e *ServerNeedsToken) Error() string {
	return "it wants to know who calls: sign in for " + e.Auth.Resource.Resource
}

const (
	serverStart = time.Minute      // a server may take to be ready
	serverBlock = 20 * time.Second // of which new messages wait
	serverLook  = 15 * time.Second // to list its tools
	mostServers = 16               // of one session run at once
	mostTools   = 256              // of one server are shown
)

// ServerTool is a tool of an MCP server, for people to read.
type ServerTool struct{ Name, Title, Description string }

// mcpServer is an MCP server of a session, running or not.
type mcpServer struct {
	entry custom.Entry
	place custom.Place

	mu      sync.Mutex // taken inside of all other locks
	state   ahp.McpServerStateValue
	run     *serverRun
	tools   []ahp.ToolDefinition
	changed chan struct{} // closed and replaced when conn or tools are others
}

// serverRun is one run of a server, from its start to its end.
type serverRun struct {
	cancel context.CancelFunc
	over   chan struct{}
	ready  chan struct{} // closed once nobody waits for it any more
	once   sync.Once
	conn   ServerConn // guarded by mcpServer.mu; nil until it is ready
}

func (r *serverRun) release() { r.once.Do(func() { close(r.ready) }) }

func newServer(e custom.Entry, p custom.Place) *mcpServer {
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

// set notes a state, and with over that the run is at its end; those who wait for the server's tools hear of it.
func (v *mcpServer) set(s ahp.McpServerStateValue, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = s
	if over {
		v.run = nil
	}
	v.stir()
}

// stir tells that something is another. The lock is held.
func (v *mcpServer) stir() {
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *mcpServer) running() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.run != nil
}

// stop ends the run there is, and waits.
func (v *mcpServer) stop() {
	v.mu.Lock()
	r := v.run
	v.mu.Unlock()
	if r != nil {
		r.cancel()
		<-r.over
	}
}

// serverOf finds a session's server by its id; nil when the host knows none.
func (h *Host) serverOf(session ahp.URI, id string) *mcpServer {
	c := &h.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.by[session]; n != nil {
		return n.servers[id]
	}
	return nil
}

func (h *Host) serversOf(session ahp.URI) (list []*mcpServer) {
	c := &h.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.by[session]; n != nil {
		for _, v := range n.servers {
			list = append(list, v)
		}
	}
	return list
}

// setServer has a session's server be in a state, for all to see (AHP requirement 199). The states of the entry and of the
// registry change together, under the hub's lock.
func (h *Host) setServer(session ahp.URI, v *mcpServer, s ahp.McpServerStateValue) {
	h.changeServer(session, v, s, false)
}

// changeServer is setServer; with over the run ends in the same moment, so that the next one is neither refused nor taken
// for it.
func (h *Host) changeServer(session ahp.URI, v *mcpServer, s ahp.McpServerStateValue, over bool) {
	_ = h.core.Do(h.core.Ctx, func(tx *hub.Tx) { // fails only when the host stops
		v.set(s, over)
		tx.Apply(session, &ahp.SessionMcpServerStateChangedAction{ID: v.entry.ID, State: ahp.McpServerState{Value: s}})
		h.publishTools(tx, session)
	})
}

// startServer runs a server unless it runs. With blocking, new messages wait for it.
func (h *Host) startServer(session ahp.URI, v *mcpServer, blocking bool) *serverRun {
	v.mu.Lock()
	if v.run != nil || v.entry.Command == nil || h.cfg.Customize.Servers == nil {
		defer v.mu.Unlock()
		return v.run
	}
	ctx, cancel := context.WithCancel(h.core.Ctx)
	r := &serverRun{cancel: cancel, over: make(chan struct{}), ready: make(chan struct{})}
	v.run = r
	v.mu.Unlock()
	state := &ahp.McpServerStartingState{}
	if blocking {
		state.Blocking = ahp.Ptr(true)
	}
	h.setServer(session, v, state)
	h.core.Go(func() {
		defer close(r.over)
		defer cancel()
		h.runServer(ctx, session, v, r)
	})
	return r
}

// runServer is a server's run: it ends with the server, or with ctx.
func (h *Host) runServer(ctx context.Context, session ahp.URI, v *mcpServer, r *serverRun) {
	conn, err := h.dialServer(ctx, session, v)
	if err == nil {
		err = h.listTools(ctx, v, conn)
	}
	if err == nil {
		v.mu.Lock()
		r.conn = conn
		v.mu.Unlock()
		h.setServer(session, v, &ahp.McpServerReadyState{})
		r.release()
		err = h.followServer(ctx, session, v, conn)
	}
	v.mu.Lock()
	r.conn, v.tools = nil, nil
	v.stir()
	v.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	h.changeServer(session, v, endOf(ctx, err), true)
	r.release()
}

// endOf is the state a run leaves behind.
func endOf(ctx context.Context, err error) ahp.McpServerStateValue {
	if ctx.Err() != nil {
		return &ahp.McpServerStoppedState{}
	}
	if auth, ok := errors.AsType[*ServerNeedsToken](err); ok {
		a := auth.Auth
		return &ahp.McpServerAuthRequiredState{Reason: a.Reason, Resource: a.Resource, RequiredScopes: a.RequiredScopes, Description: a.Description}
	}
	return failedState("server", texts.CutBytes(err.Error(), 2000))
}

func (h *Host) dialServer(ctx context.Context, session ahp.URI, v *mcpServer) (ServerConn, error) {
	cmd, err := v.entry.Command.Expand(hostVariable)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, serverStart, fmt.Errorf("it was not ready within %s", serverStart))
	defer cancel()
	conn, err := h.cfg.Customize.Servers.Dial(ctx, ServerSpec{Name: v.entry.Name, Command: cmd, Token: h.tokenFor(cmd.URL),
		Log: h.core.Log.With("session", session, "server", v.entry.Name)})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return conn, err
}

// hostVariable is a variable that a server's declaration names. The host's own are not for them.
func hostVariable(name string) (string, bool) {
	if strings.HasPrefix(name, "AHPHUB_") {
		return "", false
	}
	return os.LookupEnv(name)
}

// followServer keeps the tools up to date until the connection or ctx ends; the error says why.
func (h *Host) followServer(ctx context.Context, session ahp.URI, v *mcpServer, conn ServerConn) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-conn.Done():
			return cmp.Or(conn.Err(), errors.New("it ended the connection"))
		case <-conn.Changed():
			if err := h.listTools(ctx, v, conn); err != nil {
				h.core.Log.Warn("the tools of an MCP server cannot be listed", "session", session, "server", v.entry.Name, "err", err)
				continue
			}
			h.setServer(session, v, &ahp.McpServerReadyState{})
		}
	}
}

// listTools asks for all of a server's tools.
func (h *Host) listTools(ctx context.Context, v *mcpServer, conn ServerConn) error {
	if !conn.Has("tools") {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, serverLook, errors.New("it did not list its tools in time"))
	defer cancel()
	var tools []ahp.ToolDefinition
	for cursor := ""; ; {
		params, _ := json.Marshal(map[string]string{"cursor": cursor}) // a string
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
			return fmt.Errorf("its list of tools cannot be read: %w", err)
		}
		tools = append(tools, page.Tools...)
		if cursor = page.NextCursor; cursor == "" || len(tools) >= mostTools {
			break
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tools = tools[:min(len(tools), mostTools)]
	return nil
}

// publishTools lists the tools of ready servers among the session's own, each under a name that says whose it is (AHP
// requirement 144).
func (h *Host) publishTools(tx *hub.Tx, session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	var tools []ahp.ToolDefinition
	taken := map[string]bool{}
	listedServers(s, func(m *ahp.McpServerCustomization, _ bool) {
		v := h.serverOf(session, m.ID)
		if _, ready := m.State.Value.(*ahp.McpServerReadyState); !ready || v == nil {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, t := range v.tools {
			t.Meta = noteOf("ahphub/server", m.ID)
			t.Name = uniqueName(m.Name+"__"+t.Name, taken)
			tools = append(tools, t)
		}
	})
	if len(tools)+len(s.ServerTools) > 0 && !sameTools(tools, s.ServerTools) {
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

func sameTools(a, b []ahp.ToolDefinition) bool {
	return slices.EqualFunc(a, b, func(x, y ahp.ToolDefinition) bool {
		p, _ := json.Marshal(x)
		q, _ := json.Marshal(y)
		return string(p) == string(q)
	})
}
