package host

import (
	"context"
	"maps"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// findCall returns a tool call of the running turn, or nil.
func findCall(s *ahp.ChatState, turn, id string) ahp.ToolCallStateValue {
	if s.ActiveTurn == nil || s.ActiveTurn.ID != turn {
		return nil
	}
	return s.ActiveTurn.ResponseParts.Call(id).Value
}

// toolName returns the tool of a call of the running turn.
func toolName(s *ahp.ChatState, id string) string {
	if s.ActiveTurn == nil {
		return ""
	}
	base := (&ahp.ToolCallState{Value: findCall(s, s.ActiveTurn.ID, id)}).Base()
	if base == nil {
		return ""
	}
	return base.ToolName
}

const notWaiting = "this tool call was already answered or has ended"

// checkConfirmed accepts only the first answer (AHP requirement 122), and stamps its sender.
func (ts *turns) checkConfirmed(r *core.Request, s *ahp.ChatState, a *ahp.ChatToolCallConfirmedAction) string {
	call, ok := findCall(s, a.TurnID, a.ToolCallID).(*ahp.ToolCallPendingConfirmationState)
	if !ok {
		return notWaiting
	}
	if reason := checkOption(call.Options, a); reason != "" {
		return reason
	}
	a.Meta = stampCall(r, call.Meta, a.Meta)
	if a.Approved {
		return approveCall(r, s, call, a)
	}
	a.Confirmed, a.EditedToolInput = "", ""
	if a.Reason != ahp.ToolCallCancellationReasonSkipped {
		a.Reason = ahp.ToolCallCancellationReasonDenied
	}
	if a.UserSuggestion != nil {
		suggestion := *a.UserSuggestion
		a.UserSuggestion = &suggestion
		return ts.h.checkMessage(r, a.UserSuggestion)
	}
	return ""
}

func checkOption(options []ahp.ConfirmationOption, a *ahp.ChatToolCallConfirmedAction) string {
	if a.SelectedOptionID == "" {
		return ""
	}
	i := slices.IndexFunc(options, func(o ahp.ConfirmationOption) bool { return o.ID == a.SelectedOptionID })
	switch {
	case i < 0:
		return "there is no option " + a.SelectedOptionID + " to select"
	case options[i].Kind == ahp.ConfirmationOptionKindDeny && a.Approved,
		options[i].Kind == ahp.ConfirmationOptionKindApprove && !a.Approved:
		return "the option " + a.SelectedOptionID + " contradicts this answer"
	}
	return ""
}

// stampCall stamps the answer's sender. It also copies the call's `_meta`, which the action's
// replaces.
func stampCall(r *core.Request, had, sent ahp.Meta) ahp.Meta {
	all := core.CloneMeta(had)
	maps.Copy(all, sent)
	return r.Stamp().Write(keepContributor(had, all))
}

func approveCall(r *core.Request, s *ahp.ChatState, call *ahp.ToolCallPendingConfirmationState,
	a *ahp.ChatToolCallConfirmedAction) string {
	if a.EditedToolInput != "" && (call.Editable == nil || !*call.Editable) {
		return "the input of this tool call can't be edited. Approve it unchanged or deny it"
	}
	switch {
	case r.Caller.IsOwner():
	case FromGuest(s.ActiveTurn.Message) && !r.Caller.Guests:
		return "only the owner can approve a guest's requests, unless your link allows it"
	case a.EditedToolInput != "" && !r.Caller.Guests: // the edited input would be the guest's request
		return "only the owner can edit the input. Approve it unchanged or deny it"
	case a.SelectedOptionID == optionKind:
		return "only the owner can always allow a kind of tool call. Approve only this one"
	case a.SelectedOptionID == agent.OptionOutside:
		return "only the owner can run a command outside the sandbox. Approve it to run inside"
	}
	a.Confirmed = ahp.ToolCallConfirmationReasonUserAction // a person's answer, whatever the client calls it
	a.Reason, a.ReasonMessage, a.UserSuggestion = "", nil, nil
	return ""
}

// FromGuest reports whether a prompt's author is not the owner.
func FromGuest(m ahp.Message) bool {
	s, ok := core.ReadStamp(m.Meta)
	return ok && s.By.Role != access.RoleOwner
}

func checkResultConfirmed(r *core.Request, s *ahp.ChatState, a *ahp.ChatToolCallResultConfirmedAction) string {
	call, ok := findCall(s, a.TurnID, a.ToolCallID).(*ahp.ToolCallPendingResultConfirmationState)
	if !ok {
		return notWaiting
	}
	a.Meta = stampCall(r, call.Meta, a.Meta)
	return ""
}

// checkClientCall rejects a client's report on a tool call that is not running or not the client's
// own (AHP requirement 142). It keeps the host's stamps in the call's `_meta`.
func checkClientCall(r *core.Request, s *ahp.ChatState, turn, id string, meta *ahp.Meta) string {
	call, ok := findCall(s, turn, id).(*ahp.ToolCallRunningState)
	if !ok {
		return "this tool call is not running"
	}
	if call.Contributor != nil {
		by, ok := call.Contributor.Value.(*ahp.ToolCallClientContributor)
		if ok && by.ClientID == r.Caller.ClientID && core.Contributor(call.Meta) == r.Caller.ID {
			keepCallStamp(call.Meta, meta)
			return ""
		}
	}
	return "only the client that contributed this tool may report on it"
}

// keepCallStamp copies the host's keys into a `_meta` that replaces a call's.
func keepCallStamp(had ahp.Meta, sent *ahp.Meta) {
	if *sent != nil {
		*sent = keepContributor(had, core.KeepStamp(had, *sent))
	}
}

// keepContributor returns sent with the host's record of whose client runs the call.
func keepContributor(had, sent ahp.Meta) ahp.Meta {
	if principal := core.Contributor(had); principal != "" {
		return core.WithContributor(sent, principal)
	}
	if _, forged := sent[core.ContributorKey]; forged {
		sent = core.CloneMeta(sent)
		delete(sent, core.ContributorKey)
	}
	return sent
}

func checkCallComplete(r *core.Request, s *ahp.ChatState, a *ahp.ChatToolCallCompleteAction) string {
	return checkClientCall(r, s, a.TurnID, a.ToolCallID, &a.Meta)
}

func checkCallContent(r *core.Request, s *ahp.ChatState, a *ahp.ChatToolCallContentChangedAction) string {
	return checkClientCall(r, s, a.TurnID, a.ToolCallID, &a.Meta)
}

func (ts *turns) handleToolCallConfirmed(_ context.Context, e *hub.Envelope, a *ahp.ChatToolCallConfirmedAction) {
	ts.answer(e.Channel.URI, a.ToolCallID, a)
}

func (ts *turns) handleToolCallCompleted(_ context.Context, e *hub.Envelope, a *ahp.ChatToolCallCompleteAction) {
	ts.answer(e.Channel.URI, a.ToolCallID, a)
}
