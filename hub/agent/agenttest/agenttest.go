// Package agenttest provides the host's side for tests of agents: a turn whose actions reduce into
// a chat state, answers given by functions, and terminals that run nothing.
package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Turn is a turn under test. Its functions answer the agent's requests; without them it approves,
// accepts without answers, and offers no tool.
type Turn struct {
	Answer func(*ahp.ChatToolCallReadyAction) *ahp.ChatToolCallConfirmedAction
	Reply  func(ahp.ChatInputRequest) *ahp.ChatInputCompletedAction
	Tool   func(client, tool string, input json.RawMessage) (ahp.ToolCallResult, error)

	mu      sync.Mutex
	id      string
	state   ahp.State
	actions []ahp.Action
}

// New begins a turn in an empty chat.
func New(m ahp.Message) (*Turn, agent.Turn) {
	t := &Turn{id: "turn-1", state: &ahp.ChatState{Resource: "ahp-chat:/1", Turns: []*ahp.Turn{}}}
	t.apply(&ahp.ChatTurnStartedAction{TurnID: t.id, StartedAt: "2026-01-02T03:04:05.000Z", Message: m})
	return t, agent.Turn{ID: t.id, Chat: "ahp-chat:/1", Message: m, Out: t}
}

// User returns a message that a person typed.
func User(text string) ahp.Message {
	return ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}
}

// Approve approves a tool call.
func Approve(a *ahp.ChatToolCallReadyAction) *ahp.ChatToolCallConfirmedAction {
	return &ahp.ChatToolCallConfirmedAction{ToolCallID: a.ToolCallID, Approved: true,
		Confirmed: ahp.ToolCallConfirmationReasonUserAction}
}

// Deny denies a tool call.
func Deny(a *ahp.ChatToolCallReadyAction) *ahp.ChatToolCallConfirmedAction {
	return &ahp.ChatToolCallConfirmedAction{ToolCallID: a.ToolCallID, Reason: ahp.ToolCallCancellationReasonDenied}
}

// End ends the turn as a host would, and returns its entry in the history.
func (t *Turn) End(err error) *ahp.Turn {
	var failure *agent.Failure
	switch {
	case err == nil:
		t.apply(&ahp.ChatTurnCompleteAction{TurnID: t.id})
	case errors.As(err, &failure):
		t.apply(&ahp.ChatErrorAction{TurnID: t.id, Part: ahp.ErrorResponsePart{
			Error: ahp.ErrorInfo{ErrorType: "agent", Message: failure.Message}, Resumable: &failure.Resumable}})
	default:
		t.apply(&ahp.ChatTurnCancelledAction{TurnID: t.id})
	}
	turns := t.State().Turns
	return turns[len(turns)-1]
}

// State returns the chat's state.
func (t *Turn) State() *ahp.ChatState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.(*ahp.ChatState)
}

// Actions returns the emitted actions, in order.
func (t *Turn) Actions() []ahp.Action {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]ahp.Action(nil), t.actions...)
}

func (t *Turn) apply(a ahp.Action) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.actions = append(t.actions, a)
	t.state = ahp.Reduce(t.state, a)
}

// Emit implements agent.Out.
func (t *Turn) Emit(a ahp.Action) error {
	switch a := a.(type) {
	case *ahp.ChatDeltaAction:
		a.TurnID = t.id
	case *ahp.ChatReasoningAction:
		a.TurnID = t.id
	case *ahp.ChatResponsePartAction:
		a.TurnID = t.id
	case *ahp.ChatToolCallStartAction:
		a.TurnID = t.id
	case *ahp.ChatToolCallDeltaAction:
		a.TurnID = t.id
	case *ahp.ChatToolCallReadyAction:
		a.TurnID = t.id
	case *ahp.ChatToolCallCompleteAction:
		a.TurnID = t.id
	case *ahp.ChatToolCallContentChangedAction:
		a.TurnID = t.id
	case *ahp.ChatUsageAction:
		a.TurnID = t.id
	}
	t.apply(a)
	return nil
}

// Ask implements agent.Out.
func (t *Turn) Ask(ctx context.Context, r ahp.ChatInputRequest) (*ahp.ChatInputCompletedAction, error) {
	t.apply(&ahp.ChatInputRequestedAction{Request: r})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer := &ahp.ChatInputCompletedAction{RequestID: r.ID, Response: ahp.ChatInputResponseKindAccept}
	if t.Reply != nil {
		answer = t.Reply(r)
	}
	t.apply(answer)
	return answer, nil
}

// ClientTool implements agent.Out.
func (t *Turn) ClientTool(_ context.Context, client, tool string, input json.RawMessage) (ahp.ToolCallResult, error) {
	if t.Tool == nil {
		return ahp.ToolCallResult{}, errors.New("no client offers the tool " + tool)
	}
	return t.Tool(client, tool, input)
}

// Confirm implements agent.Out.
func (t *Turn) Confirm(ctx context.Context, a *ahp.ChatToolCallReadyAction) (*ahp.ChatToolCallConfirmedAction, error) {
	if err := t.Emit(a); err != nil {
		return nil, err
	}
	if a.Confirmed != "" {
		return &ahp.ChatToolCallConfirmedAction{ToolCallID: a.ToolCallID, Approved: true, Confirmed: a.Confirmed}, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer := Approve(a)
	if t.Answer != nil {
		answer = t.Answer(a)
	}
	answer.TurnID = t.id
	t.apply(answer)
	return answer, nil
}
