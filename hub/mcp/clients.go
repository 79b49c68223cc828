package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
)

// offer is a client's tool as shown to the agent.
type offer struct {
	client, tool string
	shown        string // the tool as JSON, to detect changes
}

// updateClientTools updates the list of tools to the clients' current ones, and notifies connected agents.
func (n *session) updateClientTools() {
	tools := n.box.ClientTools()
	if most := n.s.cfg.Limits.ClientTools; len(tools) > most {
		n.log.Warn("clients offer more tools than an agent is shown", "tools", len(tools), "shown", most)
		tools = tools[:most]
	}
	now := map[string]offer{}
	for i, name := range names(n.own, tools) {
		shown, of := n.shown(name, tools[i])
		now[name] = of
		if n.offered[name] != of {
			n.server.AddTool(shown, n.clientTool(of))
		}
	}
	var gone []string
	for name := range n.offered {
		if _, still := now[name]; !still {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		n.server.RemoveTools(gone...)
	}
	n.offered = now
}

func (n *session) shown(name string, c host.ClientTool) (*mcp.Tool, offer) {
	t := &mcp.Tool{Name: name, Title: c.Tool.Title, InputSchema: objectSchema(c.Tool.InputSchema),
		Description: strings.TrimSpace(c.Tool.Description + "\n\nRuns in " + clientName(c.Client) +
			", a connected client.")}
	if a := c.Tool.Annotations; a != nil {
		t.Annotations = &mcp.ToolAnnotations{Title: a.Title, ReadOnlyHint: isTrue(a.ReadOnlyHint),
			IdempotentHint:  isTrue(a.IdempotentHint),
			DestructiveHint: a.DestructiveHint, OpenWorldHint: a.OpenWorldHint}
	}
	raw, _ := json.Marshal(t) // strings and checked JSON always encode
	return t, offer{client: c.Client.ClientID, tool: c.Tool.Name, shown: string(raw)}
}

func isTrue(b *bool) bool { return b != nil && *b }

func clientName(c ahp.SessionActiveClient) string { return cmp.Or(c.DisplayName, c.ClientID) }

// objectSchema returns a client's schema if it is one of an object, else a schema that accepts any
// object.
func objectSchema(raw json.RawMessage) json.RawMessage {
	var s struct{ Type string }
	if json.Unmarshal(raw, &s) != nil || s.Type != "object" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return raw
}

// clientTool returns a handler that runs a client's tool.
func (n *session) clientTool(of offer) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		input := req.Params.Arguments
		if len(input) == 0 {
			input = json.RawMessage(`{}`)
		}
		if most := n.s.cfg.Limits.Input; len(input) > most {
			return failure(fmt.Sprintf("The input is too long: at most %d bytes.", most)), nil
		}
		return n.call(ctx, func(ctx context.Context) (*mcp.CallToolResult, error) {
			defer n.keepAlive(ctx, req)()
			res, err := n.box.CallClientTool(ctx, of.client, of.tool, input)
			if err != nil {
				return nil, err
			}
			return n.result(res), nil
		}), nil
	}
}

// keepAlive sends progress to agents that ask for it, until stop is called. Many give up a call
// after a minute of silence, and the client may be asking a person.
func (n *session) keepAlive(ctx context.Context, req *mcp.CallToolRequest) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(n.s.cfg.Limits.Progress)
		defer tick.Stop()
		for k := 1.0; ; k++ {
			select {
			case <-tick.C:
				// the agent may have disconnected
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: k})
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-over }
}

const mostName = 56 // agents add the server's name, and models accept 64 characters

// names returns a valid and unique name for each tool: its own if possible, otherwise with the
// client's name appended (AHP requirement 144).
func names(own []string, tools []host.ClientTool) []string {
	taken := map[string]bool{}
	for _, name := range own {
		taken[name] = true
	}
	out := make([]string, len(tools))
	for i, t := range tools {
		name := slug(t.Tool.Name, mostName)
		if taken[name] {
			name = slug(t.Tool.Name, mostName-20) + "_" + slug(clientName(t.Client), 16)
		}
		for base, k := name, 2; taken[name]; k++ {
			name = fmt.Sprintf("%.*s_%d", mostName-4, base, k)
		}
		taken[name], out[i] = true, name
	}
	return out
}

// slug removes characters that tool names cannot have.
func slug(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, s)
	return cmp.Or(s[:min(len(s), most)], "tool")
}
