package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
)

// out implements agent.Out for one running turn.
type out struct {
	l *sessionRuntime
	r *run
}

var (
	errTurnOver   = errors.New("this turn has ended")
	errNotForChat = errors.New("an agent can only send actions of its turn to a chat")
)

// Emit applies an action of the turn. It waits while the host is read-only.
func (o *out) Emit(a ahp.Action) error { return o.emit(a, o.applyShown) }

// applyShown applies an action without secrets.
func (o *out) applyShown(a ahp.Action) error {
	return o.apply(a, func(_ *hub.Tx, s *ahp.ChatState) {
		switch a := a.(type) {
		case *ahp.ChatToolCallCompleteAction:
			keepStampOf(s, a.TurnID, a.ToolCallID, &a.Meta)
		case *ahp.ChatToolCallContentChangedAction:
			keepStampOf(s, a.TurnID, a.ToolCallID, &a.Meta)
		}
	})
}

// keepStampOf keeps the stamp of a call's approver when its agent updates the call.
func keepStampOf(s *ahp.ChatState, turn, id string, meta *ahp.Meta) {
	if base := (ahp.ToolCallState{Value: findCall(s, turn, id)}).Base(); base != nil {
		keepCallStamp(base.Meta, meta)
	}
}

// apply runs before and applies the action in one step, if the turn is still running.
func (o *out) apply(a ahp.Action, before func(*hub.Tx, *ahp.ChatState)) error {
	if !o.fill(a) {
		return errNotForChat
	}
	if err := o.addText(a); err != nil {
		return err
	}
	over, again := errTurnOver, false
	err := o.l.h.core.Do(o.r.ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.ChatState](tx, o.r.chat)
		if !ok || o.r.over.Load() || s.ActiveTurn == nil || s.ActiveTurn.ID != o.r.id {
			return
		}
		over = nil
		if done, ok := a.(*ahp.ChatInputCompletedAction); ok && openRequest(s, done.RequestID) == nil {
			return // already answered
		}
		if start, ok := a.(*ahp.ChatToolCallStartAction); ok && findCall(s, o.r.id, start.ToolCallID) != nil {
			again = true // a call starts once (AHP requirement 121)
			return
		}
		before(tx, s)
		tx.Apply(o.r.chat, a)
	})
	if err = errors.Join(err, over); err == nil && !again {
		o.note(a)
	}
	return err
}

// fill sets the turn's id in an action. It returns false for actions that agents may not send; the
// result of Prompt ends a turn.
func (o *out) fill(a ahp.Action) bool {
	switch a := a.(type) {
	case *ahp.ChatDeltaAction:
		a.TurnID = o.r.id
	case *ahp.ChatReasoningAction:
		a.TurnID = o.r.id
	case *ahp.ChatResponsePartAction:
		a.TurnID = o.r.id
	case *ahp.ChatToolCallStartAction:
		a.TurnID = o.r.id
	case *ahp.ChatToolCallDeltaAction:
		a.TurnID = o.r.id
	case *ahp.ChatToolCallReadyAction:
		a.TurnID = o.r.id
	case *ahp.ChatToolCallCompleteAction:
		a.TurnID = o.r.id
	case *ahp.ChatToolCallContentChangedAction:
		a.TurnID = o.r.id
	case *ahp.ChatToolCallAuthRequiredAction:
		a.TurnID = o.r.id
	case *ahp.ChatToolCallAuthResolvedAction:
		a.TurnID = o.r.id
	case *ahp.ChatUsageAction:
		a.TurnID = o.r.id
	case *ahp.ChatActivityChangedAction, *ahp.ChatInputRequestedAction, *ahp.ChatInputCompletedAction,
		*ahp.ChatBackgroundWorkSetAction, *ahp.ChatBackgroundWorkRemovedAction, *ahp.ChatPendingMessageRemovedAction:
	default:
		return false
	}
	return true
}

// Confirm makes a tool call ready and waits for a person's approval or denial, unless the session's
// settings allow the call.
func (o *out) Confirm(ctx context.Context, a *ahp.ChatToolCallReadyAction) (*ahp.ChatToolCallConfirmedAction, error) {
	answer, forget := o.l.h.turns.await(waitKey{o.r.chat, a.ToolCallID})
	defer forget()
	err := o.emit(a, func(shown ahp.Action) error {
		if ready, ok := shown.(*ahp.ChatToolCallReadyAction); ok {
			a = ready
			return o.applyReady(ready)
		}
		return o.applyShown(shown) // text that was held back before it
	})
	if err != nil {
		return nil, err
	}
	if a.Confirmed != "" {
		return &ahp.ChatToolCallConfirmedAction{TurnID: o.r.id, ToolCallID: a.ToolCallID, Approved: true,
			Confirmed: a.Confirmed}, nil
	}
	got, err := waitFor[*ahp.ChatToolCallConfirmedAction](ctx, o.r.ctx, answer)
	if err == nil && !got.Approved {
		o.r.calls.end(o, a.ToolCallID, outcomeDenied)
	}
	return got, err
}

// applyReady makes a tool call ready, and confirms it if the session's settings allow it.
func (o *out) applyReady(a *ahp.ChatToolCallReadyAction) error {
	return o.apply(a, func(tx *hub.Tx, s *ahp.ChatState) {
		session, ok := hub.StateOf[*ahp.SessionState](tx, o.l.uri)
		if a.Confirmed != "" || !ok {
			return
		}
		kind := toolName(s, a.ToolCallID)
		if isCallAllowed(session, kind, s.ActiveTurn.Message) {
			a.Confirmed = ahp.ToolCallConfirmationReasonSetting
			return
		}
		offerKind(session, kind, a)
		if o.l.h.Sandboxes.Describe(o.l.uri, session, kind, a) && !FromGuest(s.ActiveTurn.Message) {
			offerOutside(a)
		}
	})
}

// Ask sends an input request and waits for its completion. Drafts count as answers unless the
// completion replaces them (AHP requirement 130).
func (o *out) Ask(ctx context.Context, req ahp.ChatInputRequest) (*ahp.ChatInputCompletedAction, error) {
	answer, forget := o.l.h.turns.await(waitKey{o.r.chat, req.ID})
	defer forget()
	if err := o.Emit(&ahp.ChatInputRequestedAction{Request: req}); err != nil {
		return nil, err
	}
	return waitFor[*ahp.ChatInputCompletedAction](ctx, o.r.ctx, answer)
}

// ClientTool has a connected client run one of its tools (AHP requirement 141). A client that does
// not answer makes the call fail (143).
func (o *out) ClientTool(ctx context.Context, clientID, tool string,
	input json.RawMessage) (ahp.ToolCallResult, error) {
	id := ids.New()
	answer, forget := o.l.h.turns.await(waitKey{o.r.chat, id})
	defer forget()
	client, def, err := o.offering(clientID, tool)
	if err != nil {
		return ahp.ToolCallResult{}, err
	}
	by := &ahp.ToolCallContributor{Value: &ahp.ToolCallClientContributor{ClientID: client.ID}}
	name := def.Title
	if name == "" {
		name = tool
	}
	start := &ahp.ChatToolCallStartAction{ToolCallID: id, ToolName: tool, DisplayName: name, Contributor: by,
		Meta: core.WithContributor(nil, client.Principal)}
	ready := &ahp.ChatToolCallReadyAction{ToolCallID: id, InvocationMessage: ahp.Plain(name), Contributor: by,
		ToolInput: &ahp.ToolInput{Text: string(input)}, Confirmed: ahp.ToolCallConfirmationReasonNotNeeded}
	if err := o.Emit(start); err != nil {
		return ahp.ToolCallResult{}, err
	}
	if err := o.Emit(ready); err != nil {
		return ahp.ToolCallResult{}, err
	}
	return o.clientResult(ctx, id, answer)
}

func (o *out) clientResult(ctx context.Context, id string, answer <-chan ahp.Action) (ahp.ToolCallResult, error) {
	limited, cancel := context.WithTimeoutCause(ctx, o.l.h.core.Limits.ClientTool, errSilentTool)
	defer cancel()
	done, err := waitFor[*ahp.ChatToolCallCompleteAction](limited, o.r.ctx, answer)
	if errors.Is(err, errSilentTool) {
		failed := ahp.ToolCallResult{PastTenseMessage: ahp.Plain("No answer from the client"),
			Error: &ahp.ToolCallError{Message: err.Error()}}
		return failed, o.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: id, Result: failed})
	}
	if err != nil {
		// fails if the turn has ended, which also ended the call
		_ = o.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: id, Result: givenUp})
		return ahp.ToolCallResult{}, err
	}
	o.note(done)
	return done.Result, nil
}

var givenUp = ahp.ToolCallResult{PastTenseMessage: ahp.Plain("The agent did not wait for the client"),
	Error: &ahp.ToolCallError{Message: "the agent abandoned this call", Code: "cancelled"}}

// offering returns an active client that offers a tool, and the tool.
func (o *out) offering(clientID, tool string) (core.ClientRef, ahp.ToolDefinition, error) {
	s, _ := hub.StateOf[*ahp.SessionState](o.l.h.core.Hub, o.l.uri)
	if s == nil {
		return core.ClientRef{}, ahp.ToolDefinition{}, errDisposed
	}
	for _, c := range s.ActiveClients {
		by, listed := o.l.h.clients.Principal(o.l.uri, c.ClientID)
		for _, t := range c.Tools {
			if listed && t.Name == tool && (clientID == "" || clientID == c.ClientID) {
				return core.ClientRef{Principal: by, ID: c.ClientID}, t, nil
			}
		}
	}
	return core.ClientRef{}, ahp.ToolDefinition{},
		refusef("no connected client offers the tool %s any more. List the tools again", tool)
}
