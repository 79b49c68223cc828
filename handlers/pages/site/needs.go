package site

import (
	"strings"

	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/part"
)

// NeedsAnswerOf reports whether this person can answer a session that waits for an answer.
func (st *Site) NeedsAnswerOf(who access.Principal, session ahp.URI) bool {
	return who.Role == access.RoleOwner || slices.ContainsFunc(st.SessionState(session).InputNeeded,
		func(r ahp.SessionInputRequest) bool { return st.MayAnswer(who, r) })
}

// AnswerRights distinguishes principals for whom MayAnswer differs.
func AnswerRights(who access.Principal) string {
	return fmt.Sprint(who.CanApprove(true), who.CanApprove(false), who.Has(access.RightPrompt),
		who.Has(access.RightManage))
}

// PersonAndRights distinguishes persons, and like AnswerRights their rights.
func PersonAndRights(who access.Principal) string { return who.ID + AnswerRights(who) }

// MayAnswer reports whether who may answer a request, by the host's rules.
func (st *Site) MayAnswer(who access.Principal, r ahp.SessionInputRequest) bool {
	switch v := r.Value.(type) {
	case *ahp.SessionToolConfirmationRequest:
		_, call := v.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState)
		return who.CanApprove(call && st.ofGuest(v.Chat))
	case *ahp.SessionChatInputRequest:
		return who.Has(access.RightPrompt)
	case *ahp.SessionToolAuthenticationRequest:
		return who.Has(access.RightManage)
	}
	return false // only a client can answer
}

// answerers returns the CSS classes of viewers who may answer one of a session's requests. The HTML is shared by all
// viewers, and the classes hide or show its parts.
func (st *Site) answerers(list []ahp.SessionInputRequest) (classes string) {
	for _, c := range []struct {
		class string
		who   access.Principal // has exactly this right
	}{
		{"by-prompt", access.Principal{Role: access.RoleDriver, Prompt: true}},
		{"by-approve", access.Principal{Role: access.RoleDriver, Approve: true}},
		{"by-guests", access.Principal{Role: access.RoleDriver, Approve: true, Guests: true}},
	} {
		if slices.ContainsFunc(list, func(r ahp.SessionInputRequest) bool { return st.MayAnswer(c.who, r) }) {
			classes += " " + c.class
		}
	}
	return classes
}

// ofGuest reports whether a chat's running turn is for someone other than the owner.
func (st *Site) ofGuest(chat ahp.URI) bool {
	s, ok := hub.StateOf[*ahp.ChatState](st.Hub, chat)
	return ok && s.ActiveTurn != nil && host.FromGuest(s.ActiveTurn.Message)
}

// StatusFor returns a session's status as a list shows it to who.
func (st *Site) StatusFor(who access.Principal, s ahp.SessionSummary) part.Status {
	if s.Status.Activity() == ahp.SessionStatusInputNeeded && !st.NeedsAnswerOf(who, s.Resource) {
		return part.Waiting
	}
	return StatusOf(s.Status, s.Activity)
}

// StatusOf describes a status; a turn that a restart interrupted did not fail.
func StatusOf(s ahp.SessionStatus, activity string) part.Status {
	if s.Activity() == ahp.SessionStatusError && activity == host.Interrupted {
		return part.Interrupted
	}
	return part.StatusOf(s)
}

// IsSilent reports whether an activity is about an agent that does not respond.
func IsSilent(activity string) bool { return strings.HasPrefix(activity, host.NoAnswerFor) }
