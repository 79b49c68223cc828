package host

import (
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// optionKind is the option that also allows all later calls of the same kind in the session. Only
// the owner may select it.
const optionKind = "ahphub:kind"

// kinds maps the tool kinds that can be allowed as a whole to their labels. The keys are kinds of
// the Agent Client Protocol, and the shell agent's own.
var kinds = map[string]string{
	"read": "reading", "search": "searches", "fetch": "fetching", "edit": "edits", "delete": "deletions",
	"move": "moves", "execute": "commands", "shell": "commands",
}

// reads are the kinds that change nothing on the machine and access nothing outside it.
var reads = []string{"read", "search", "think"}

// isCallAllowed reports whether a session's settings let a call run without approval. A guest's
// call always needs approval.
func isCallAllowed(s *ahp.SessionState, kind string, m ahp.Message) bool {
	if FromGuest(m) {
		return false
	}
	switch core.ConfigValue(s, approvalKey) {
	case agent.ApprovalAuto:
		return true
	case agent.ApprovalWrites:
		if slices.Contains(reads, kind) {
			return true
		}
	}
	return slices.Contains(allowedKinds(s), kind)
}

func allowedKinds(s *ahp.SessionState) (list []string) {
	if s.Config != nil {
		_ = json.Unmarshal(s.Config.Values[agent.AllowedKey], &list) // an invalid list allows nothing
	}
	return list
}

// offerKind adds the option that allows a whole kind after the first approving option. It adds none
// if the agent has such an option itself, a second approving one.
func offerKind(s *ahp.SessionState, kind string, a *ahp.ChatToolCallReadyAction) {
	word, known := kinds[kind]
	if settings := Settings(s); !known || settings == nil || settings.Schema.Properties[agent.AllowedKey].Type == "" {
		return
	}
	approves := func(o ahp.ConfirmationOption) bool { return o.Kind == ahp.ConfirmationOptionKindApprove }
	first := slices.IndexFunc(a.Options, approves)
	if first < 0 || slices.ContainsFunc(a.Options[first+1:], approves) {
		return
	}
	own := ahp.ConfirmationOption{ID: optionKind, Label: "Always allow " + word + " in this session",
		Kind: ahp.ConfirmationOptionKindApprove}
	a.Options = slices.Insert(slices.Clone(a.Options), first+1, own)
}

// offerOutside adds the option to run a command outside the session's sandbox. It is only for
// commands that the host runs, as other agents run theirs inside, and not for guests' requests.
func offerOutside(a *ahp.ChatToolCallReadyAction) {
	denies := slices.IndexFunc(a.Options, func(o ahp.ConfirmationOption) bool {
		return o.Kind == ahp.ConfirmationOptionKindDeny
	})
	if denies < 0 {
		return
	}
	a.Options = slices.Insert(slices.Clone(a.Options), denies, ahp.ConfirmationOption{ID: agent.OptionOutside,
		Label: "Run outside the sandbox", Kind: ahp.ConfirmationOptionKindApprove})
}

// allowKind records the kind that an answer allowed for the rest of the session.
func allowKind(tx *hub.Tx, session *ahp.SessionState, ch hub.ChannelInfo, chat *ahp.ChatState,
	a *ahp.ChatToolCallConfirmedAction) {
	if !a.Approved || a.SelectedOptionID != optionKind {
		return
	}
	call, ok := findCall(chat, a.TurnID, a.ToolCallID).(*ahp.ToolCallRunningState)
	if !ok {
		return
	}
	list := allowedKinds(session)
	if slices.Contains(list, call.ToolName) {
		return
	}
	raw, err := json.Marshal(append(list, call.ToolName))
	if err != nil {
		return // strings always encode
	}
	tx.Apply(ch.Session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{agent.AllowedKey: raw}})
}
