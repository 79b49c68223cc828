package host

import (
	"reflect"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// mirrorInputNeeded keeps session.inputNeeded equal to the requests that block the chat's turn,
// with everything that an unsubscribed client needs to answer (AHP requirements 76 and 77).
func (h *Host) mirrorInputNeeded(tx *hub.Tx, ch hub.ChannelInfo, chat *ahp.ChatState, session *ahp.SessionState) {
	want := listWaiting(ch.URI, chat.ActiveTurn)
	for _, have := range session.InputNeeded {
		id, of := requestOf(have)
		if of == ch.URI && !slices.ContainsFunc(want, func(r ahp.SessionInputRequest) bool {
			w,
				_ := requestOf(r)
			return w == id
		}) {
			tx.Apply(ch.Session, &ahp.SessionInputNeededRemovedAction{ID: id})
		}
	}
	for _, w := range want {
		if !slices.ContainsFunc(session.InputNeeded,
			func(r ahp.SessionInputRequest) bool { return reflect.DeepEqual(r.Value, w.Value) }) {
			tx.Apply(ch.Session, &ahp.SessionInputNeededSetAction{Request: w})
		}
	}
}

func (h *Host) forgetInputNeeded(tx *hub.Tx, session, chat ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	for _, r := range s.InputNeeded {
		if id, of := requestOf(r); of == chat {
			tx.Apply(session, &ahp.SessionInputNeededRemovedAction{ID: id})
		}
	}
}

func requestOf(r ahp.SessionInputRequest) (id string, chat ahp.URI) {
	switch v := r.Value.(type) {
	case *ahp.SessionChatInputRequest:
		return v.ID, v.Chat
	case *ahp.SessionToolConfirmationRequest:
		return v.ID, v.Chat
	case *ahp.SessionToolClientExecutionRequest:
		return v.ID, v.Chat
	case *ahp.SessionToolAuthenticationRequest:
		return v.ID, v.Chat
	}
	return "", ""
}

// listWaiting returns the requests that a turn waits for, in the order of its parts.
func listWaiting(chat ahp.URI, t *ahp.ActiveTurn) (list []ahp.SessionInputRequest) {
	if t == nil {
		return nil
	}
	for _, p := range t.ResponseParts.All() {
		switch p := p.Value.(type) {
		case *ahp.InputRequestResponsePart:
			if p.Response == "" {
				list = append(list, ahp.SessionInputRequest{Value: &ahp.SessionChatInputRequest{
					ID: chat + "#input:" + p.Request.ID, Chat: chat, Request: p.Request}})
			}
		case *ahp.ToolCallResponsePart:
			if r := waitingTool(chat, t.ID, p.ToolCall); r != nil {
				list = append(list, ahp.SessionInputRequest{Value: r})
			}
		}
	}
	return list
}

func waitingTool(chat ahp.URI, turn string, call ahp.ToolCallState) ahp.SessionInputRequestValue {
	id := func(call string) string { return chat + "#tool:" + turn + ":" + call }
	switch c := call.Value.(type) {
	case *ahp.ToolCallPendingConfirmationState:
		return &ahp.SessionToolConfirmationRequest{ID: id(c.ToolCallID), Chat: chat, TurnID: turn,
			ToolCall: ahp.ToolCallConfirmationState{Value: c}}
	case *ahp.ToolCallPendingResultConfirmationState:
		return &ahp.SessionToolConfirmationRequest{ID: id(c.ToolCallID), Chat: chat, TurnID: turn,
			ToolCall: ahp.ToolCallConfirmationState{Value: c}}
	case *ahp.ToolCallAuthRequiredState:
		return &ahp.SessionToolAuthenticationRequest{ID: id(c.ToolCallID), Chat: chat, TurnID: turn, ToolCall: *c}
	case *ahp.ToolCallRunningState:
		if c.Contributor == nil {
			return nil
		}
		if client, ok := c.Contributor.Value.(*ahp.ToolCallClientContributor); ok {
			return &ahp.SessionToolClientExecutionRequest{ID: id(c.ToolCallID), Chat: chat, TurnID: turn,
				ClientID: client.ClientID, ToolCall: *c}
		}
	}
	return nil
}
