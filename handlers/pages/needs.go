package pages

import (
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/part"
)

// needs tells whether a session that waits for an answer waits for this person among others.
func (p *Pages) needs(who access.Principal, session ahp.URI) bool {
	return who.Role == access.RoleOwner || slices.ContainsFunc(p.sessionState(session).InputNeeded, func(r ahp.SessionInputRequest) bool { return p.answers(who, r) })
}

// mayAnswer tells apart those for whom answers differs.
func mayAnswer(who access.Principal) string {
	return fmt.Sprint(who.CanApprove(true), who.CanApprove(false), who.Has(access.RightPrompt), who.Has(access.RightManage))
}

// mayAnswerAs tells each person apart, besides what mayAnswer does.
func mayAnswerAs(who access.Principal) string { return who.ID + mayAnswer(who) }

// answers tells whether somebody may answer a request, as the host would say when they do.
func (p *Pages) answers(who access.Principal, r ahp.SessionInputRequest) bool {
	switch v := r.Value.(type) {
	case *ahp.SessionToolConfirmationRequest:
		_, call := v.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState)
		return who.CanApprove(call && p.ofGuest(v.Chat))
	case *ahp.SessionChatInputRequest:
		return who.Has(access.RightPrompt)
	case *ahp.SessionToolAuthenticationRequest:
		return who.Has(access.RightManage)
	}
	return false // a client's work
}

// answerers are the classes of those who may answer one of a session's requests: what all viewers share is drawn by them.
func (p *Pages) answerers(list []ahp.SessionInputRequest) (classes string) {
	for _, c := range []struct {
		class string
		who   access.Principal // somebody who may do that much alone
	}{
		{"by-prompt", access.Principal{Role: access.RoleDriver, Prompt: true}},
		{"by-approve", access.Principal{Role: access.RoleDriver, Approve: true}},
		{"by-guests", access.Principal{Role: access.RoleDriver, Approve: true, Guests: true}},
	} {
		if slices.ContainsFunc(list, func(r ahp.SessionInputRequest) bool { return p.answers(c.who, r) }) {
			classes += " " + c.class
		}
	}
	return classes
}

// ofGuest tells whether a chat's turn answers another than the owner.
func (p *Pages) ofGuest(chat ahp.URI) bool {
	s, ok := hub.StateOf[*ahp.ChatState](p.Hub, chat)
	return ok && s.ActiveTurn != nil && host.FromGuest(s.ActiveTurn.Message)
}

// statusFor is a session's status as somebody is shown it in a list, where each is shown their own.
func (p *Pages) statusFor(who access.Principal, s ahp.SessionSummary) part.Status {
	if s.Status.Activity() == ahp.SessionStatusInputNeeded && !p.needs(who, s.Resource) {
		return part.Waiting
	}
	return activityStatus(s.Status, s.Activity)
}

// activityStatus is a status in words; a turn that a restart ended did not fail.
func activityStatus(s ahp.SessionStatus, activity string) part.Status {
	if s.Activity() == ahp.SessionStatusError && activity == host.Interrupted {
		return part.Interrupted
	}
	return part.StatusOf(s)
}
