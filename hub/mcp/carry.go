package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session's MCP server, as its agent sees it: requests of all agents go to one process. While the
// process does not run, there are no tools.

// errNotRunning refuses a request to a server that does not run, or stopped before it answered.
var errNotRunning = errors.New("this MCP server is not running")

// forwardedRequests forwards requests to the server and decodes its answers.
var forwardedRequests = map[string]func(context.Context, *session, json.RawMessage) (mcp.Result, error){
	"tools/list":               forwardTo[mcp.ListToolsResult]("tools/list"),
	"tools/call":               forwardTo[mcp.CallToolResult]("tools/call"),
	"resources/list":           forwardTo[mcp.ListResourcesResult]("resources/list"),
	"resources/templates/list": forwardTo[mcp.ListResourceTemplatesResult]("resources/templates/list"),
	"resources/read":           forwardTo[mcp.ReadResourceResult]("resources/read"),
	"prompts/list":             forwardTo[mcp.ListPromptsResult]("prompts/list"),
	"prompts/get":              forwardTo[mcp.GetPromptResult]("prompts/get"),
	"completion/complete":      forwardTo[mcp.CompleteResult]("completion/complete"),
}

func forwardTo[R any, PR interface {
	*R
	mcp.Result
}](method string) func(context.Context, *session, json.RawMessage) (mcp.Result, error) {
	return func(ctx context.Context, n *session, params json.RawMessage) (mcp.Result, error) {
		conn, _ := n.relay.Conn()
		if conn == nil || isClosed(conn.Done()) {
			return nil, fmt.Errorf("%w: %s", errNotRunning, n.relay.Name)
		}
		raw, err := conn.Do(ctx, method, params)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, mcp.ErrConnectionClosed): // it stopped meanwhile
			return nil, fmt.Errorf("%w: %s", errNotRunning, n.relay.Name)
		case err != nil:
			return nil, err
		}
		res := PR(new(R))
		return res, json.Unmarshal(raw, res)
	}
}

// createForwarder creates the server that forwards requests.
func (n *session) createForwarder() {
	can := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	if conn, _ := n.relay.Conn(); conn != nil {
		if conn.Has("resources") {
			can.Resources = &mcp.ResourceCapabilities{}
		}
		if conn.Has("prompts") {
			can.Prompts = &mcp.PromptCapabilities{}
		}
		if conn.Has("completions") {
			can.Completions = &mcp.CompletionCapabilities{}
		}
	}
	n.server = mcp.NewServer(&mcp.Implementation{Name: n.relay.Name, Version: n.s.cfg.Version},
		&mcp.ServerOptions{Capabilities: can})
	n.server.AddReceivingMiddleware(n.forwardMiddleware)
}

// forwardMiddleware forwards the requests that the server itself must answer.
func (n *session) forwardMiddleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		do := forwardedRequests[method]
		if do == nil {
			return next(ctx, method, req)
		}
		params, err := json.Marshal(req.GetParams())
		if err != nil {
			return nil, err
		}
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			res, err := do(ctx, n, params)
			if method == "tools/list" && errors.Is(err, errNotRunning) {
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{}}, nil
			}
			return res, err
		}
		return n.call(ctx, func(ctx context.Context) (*mcp.CallToolResult, error) {
			defer n.keepAlive(ctx, call)()
			res, err := do(ctx, n, params)
			if err != nil {
				return failure(sentence(err.Error())), nil // the model can act on it
			}
			return res.(*mcp.CallToolResult), nil
		}), nil
	}
}

// watchTools notifies the agent that the tools may have changed; the channel is closed at the next
// change.
func (n *session) watchTools() <-chan struct{} {
	_, changed := n.relay.Conn()
	// The SDK's server never answers requests for the list: adding and removing a tool makes it
	// notify agents of a change.
	n.server.AddTool(&mcp.Tool{Name: "changed", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	n.server.RemoveTools("changed")
	return changed
}
