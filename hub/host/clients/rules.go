package clients

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Rules returns the checks of clients' actions that add and remove clients.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{
		"session/activeClientSet":     core.Rule(p.checkSet),
		"session/activeClientRemoved": core.Rule(p.checkRemoved),
	}
}

// Effects returns the effects of changes to a session's clients.
func (p *Part) Effects() map[string]core.Effect {
	return map[string]core.Effect{
		"session/activeClientSet": core.On(func(_ context.Context, e *hub.Envelope,
			_ *ahp.SessionActiveClientSetAction) {
			p.cfg.Changed(e.Channel.URI)
		}),
		"session/activeClientRemoved": core.On(p.afterRemoved),
	}
}

// checkSet lets a client add only itself, with unique tool names that the host does not use.
// Windows of one editor offer the same tools, whose names are made unique for the agent (AHP
// requirement 144).
func (p *Part) checkSet(r *core.Request, s *ahp.SessionState, a *ahp.SessionActiveClientSetAction) string {
	me := a.ActiveClient.ClientID
	if me == "" || me != r.Caller.ClientID {
		return "a client can only add itself. activeClient.clientId must be its own clientId"
	}
	if by, listed := p.Principal(r.Info.URI, me); listed && by != r.Caller.ID {
		return "another participant's client has this clientId in this session. Choose another one, such as " +
			"a new UUID"
	}
	taken := map[string]string{}
	for _, t := range s.ServerTools {
		taken[t.Name] = "ahphub"
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
	p.List(r.Tx, r.Info.URI, r.Caller.Ref())
	return ""
}

// checkRemoved lets a client remove itself, and the owner any client.
func (p *Part) checkRemoved(r *core.Request, _ *ahp.SessionState, a *ahp.SessionActiveClientRemovedAction) string {
	by, listed := p.Principal(r.Info.URI, a.ClientID)
	if (a.ClientID != r.Caller.ClientID || listed && by != r.Caller.ID) && !r.Caller.IsOwner() {
		return "a client can only remove itself"
	}
	return ""
}

// afterRemoved fails the running calls of a removed client (AHP requirement 140).
func (p *Part) afterRemoved(ctx context.Context, e *hub.Envelope, a *ahp.SessionActiveClientRemovedAction) {
	p.cfg.Changed(e.Channel.URI)
	s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, e.Channel.URI)
	if !ok {
		return
	}
	_ = p.core.Do(ctx, func(tx *hub.Tx) { // fails only if the host stops, which also ends the turns
		failCalls(tx, s, a.ClientID)
	})
}

// failCalls fails the running calls of a client's tools.
func failCalls(tx *hub.Tx, s *ahp.SessionState, client string) {
	for _, r := range s.InputNeeded {
		call, ok := r.Value.(*ahp.SessionToolClientExecutionRequest)
		if ok && call.ClientID == client {
			tx.Apply(call.Chat, &ahp.ChatToolCallCompleteAction{TurnID: call.TurnID,
				ToolCallID: call.ToolCall.ToolCallID, Result: clientGone})
		}
	}
}

var clientGone = ahp.ToolCallResult{PastTenseMessage: ahp.Plain("The client left before it answered"),
	Error: &ahp.ToolCallError{Message: "the client that offered this tool has disconnected", Code: "client-gone"}}
