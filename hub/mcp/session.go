package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/host"
)

// instructions describes the server to a model, in addition to its tools.
const instructions = `These tools reach the review of the session you work in, which people follow live.
When a message sends you review comments: find their ids with list_comments, make the changes, then answer each with
reply_to_comment (say what you did, briefly) and resolve_comment once it is dealt with. Leave a comment open when you
disagree or need an answer. Use add_comment to point people at lines they should look at. Lines count from 1.
Tools that say which client they run in are carried out by a connected editor; they work only while you answer a message.`

// session is a server for one agent: the host's own tools, or one of the session's MCP servers.
type session struct {
	s        *Server
	of       tokenTarget
	box      *host.Toolbox // nil for an MCP server
	relay    *host.Relay   // that MCP server
	log      *slog.Logger
	server   *mcp.Server
	http     http.Handler
	calls    chan struct{}    // one slot for each concurrent call
	requests sync.WaitGroup   // guarded by Server.mu: none is added once over
	over     bool             // likewise
	own      []string         // names of the host's tools
	offered  map[string]offer // the clients' tools by name; only follow changes it while it runs
}

func newSession(s *Server, of tokenTarget) *session {
	n := &session{s: s, of: of, log: s.log.With("session", of.Session()),
		calls: make(chan struct{}, s.cfg.Limits.Calls), offered: map[string]offer{}}
	if relay, ok := of.(*host.Relay); ok {
		n.relay = relay
		n.createForwarder()
	} else {
		n.box = of.(*host.Toolbox) // the only other kind
		n.ownTools()
	}
	n.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return n.server },
		// the server has checked the host already
		&mcp.StreamableHTTPOptions{DisableLocalhostProtection: true, MaxRequestBodyBytes: -1})
	return n
}

// ownTools makes the server of the host's tools.
func (n *session) ownTools() {
	n.server = mcp.NewServer(&mcp.Implementation{Name: "ahphub", Title: "ahphub", Version: n.s.cfg.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		})
	n.addComments()
	n.updateClientTools()
}

// follow updates the clients' tools until the toolbox is shut.
func (n *session) follow() {
	defer n.s.leave(n)
	for {
		select {
		case <-n.refreshTools():
		case <-n.of.Context().Done():
			return
		}
	}
}

// refreshTools updates the tools; the returned channel is closed when they may have changed.
func (n *session) refreshTools() <-chan struct{} {
	if n.relay != nil {
		return n.watchTools()
	}
	changed := n.box.Changed()
	n.updateClientTools()
	return changed
}

func (n *session) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
		n.makeRoom()
	}
	n.http.ServeHTTP(w, r)
}

// makeRoom closes the agent's oldest connection when there are too many: agents that reconnect do
// not always close the previous one. An agent whose connection was closed reconnects.
func (n *session) makeRoom() {
	var oldest *mcp.ServerSession
	count := 0
	for c := range n.server.Sessions() {
		if count++; oldest == nil {
			oldest = c
		}
	}
	if count >= n.s.cfg.Limits.Connections {
		_ = oldest.Close() // only fails if it is closed already
	}
}

func (n *session) disconnect() {
	for c := range n.server.Sessions() {
		_ = c.Close() // only fails if it is closed already
	}
}

// call runs one tool call: a few concurrently, none after the toolbox was shut. Errors are part of
// the result, so that the model can read them.
func (n *session) call(ctx context.Context, f func(context.Context) (*mcp.CallToolResult, error)) *mcp.CallToolResult {
	select {
	case n.calls <- struct{}{}:
		defer func() { <-n.calls }()
	default:
		return failure("Too many calls run at once: wait for the answers to those under way, then call again.")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.of.Context(), func() { cancel(context.Cause(n.of.Context())) })()
	res, err := f(ctx)
	if err != nil {
		return failure(n.explain(ctx, err))
	}
	return res
}

// explain converts an error for a model; errors that it cannot act on are logged for the operator.
func (n *session) explain(ctx context.Context, err error) string {
	if why, ok := errors.AsType[host.Refusal](err); ok {
		return sentence(string(why))
	}
	switch {
	case n.of.Context().Err() != nil:
		return "The session is over."
	case ctx.Err() != nil:
		return "The call was cancelled."
	case errors.Is(err, context.Canceled):
		return "The turn this call belonged to is over."
	}
	n.log.Warn("an agent's tool call failed", "err", err)
	return "ahphub could not do this now. Try again in a moment, and continue without it if it fails again."
}

func failure(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func (n *session) text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: cut(text, n.s.cfg.Limits.Output)}}}
}
