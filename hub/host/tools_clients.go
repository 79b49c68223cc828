package host

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// ClientTool is a tool that a client offers to the session's agent.
type ClientTool struct {
	Client ahp.SessionActiveClient
	Tool   ahp.ToolDefinition
}

// ClientTools returns the tools on offer, by client in the order they connected.
func (b *Toolbox) ClientTools() (list []ClientTool) {
	s, ok := hub.StateOf[*ahp.SessionState](b.l.h.core.Hub, b.l.uri)
	if !ok {
		return nil
	}
	for _, c := range s.ActiveClients {
		for _, t := range c.Tools {
			list = append(list, ClientTool{c, t})
		}
	}
	return list
}

// Changed returns a channel that is closed when ClientTools may have changed.
func (b *Toolbox) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// handleClientsChanged notifies the agent's toolbox that clients' tools may have changed.
func (h *Host) handleClientsChanged(session ahp.URI) {
	l := h.turns.findRuntime(session)
	if l == nil {
		return
	}
	l.mu.Lock()
	b := l.tools
	l.mu.Unlock()
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// CallClientTool has a client run its tool, as a tool call of the agent's turn (AHP requirement
// 141). It ends with the turn, with ctx, or when the client disconnects or does not answer.
func (b *Toolbox) CallClientTool(ctx context.Context, clientID, tool string,
	input json.RawMessage) (ahp.ToolCallResult, error) {
	r := b.turnOf(tool)
	if r == nil {
		return ahp.ToolCallResult{}, refusef("no turn is running. Call %s while you answer a message", tool)
	}
	return (&out{b.l, r}).ClientTool(ctx, clientID, tool, input)
}

// turnOf returns the turn that a call belongs to. Agents do not name it, so if several are running,
// it is one that shows a call of the tool, else the last started.
func (b *Toolbox) turnOf(tool string) (turn *run) {
	var says bool
	var began string
	for _, r := range b.l.running() {
		s, ok := hub.StateOf[*ahp.ChatState](b.l.h.core.Hub, r.chat)
		if !ok || s.ActiveTurn == nil || s.ActiveTurn.ID != r.id {
			continue
		}
		calls := callsTool(s.ActiveTurn, tool)
		if turn == nil || calls && !says || calls == says && s.ActiveTurn.StartedAt > began {
			turn, says, began = r, calls, s.ActiveTurn.StartedAt
		}
	}
	return turn
}

// callsTool reports whether a turn shows a running call by the agent itself that names the tool.
func callsTool(t *ahp.ActiveTurn, tool string) bool {
	for _, p := range t.ResponseParts.All() {
		part, ok := p.Value.(*ahp.ToolCallResponsePart)
		if !ok {
			continue
		}
		call, running := part.ToolCall.Value.(*ahp.ToolCallRunningState)
		if running && call.Contributor == nil && strings.Contains(call.ToolName+" "+call.DisplayName+" "+
			call.InvocationMessage.Text, tool) {
			return true
		}
	}
	return false
}
