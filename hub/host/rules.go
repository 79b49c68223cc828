package host

import (
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// rules says what a client's action must keep to (AHP requirement 35). A rule may write
// into its copy of the action what only the host knows: who, when, how long.
var rules = map[string]check{
	"root/configChanged": refuse("this host has no settings that clients may change"),

	"session/titleChanged":                 rule(checkTitle),
	"session/isReadChanged":                accept,
	"session/isArchivedChanged":            accept,
	"session/configChanged":                rule(checkConfigChanged),
	"session/activeClientSet":              rule(checkActiveClientSet),
	"session/activeClientRemoved":          rule(checkActiveClientRemoved),
	"session/workingDirectorySet":          rule(checkDirSet),
	"session/workingDirectoryRemoved":      rule(checkDirRemoved), // AHP requirement 83
	"session/workingDirectoryReplaced":     rule(checkDirReplaced),
	"session/customizationToggled":         rule(checkToggled),
	"session/mcpServerStartRequested":      rule(checkServerStart),
	"session/mcpServerStopRequested":       rule(checkServerStop),
	"session/mcpServerBackgroundRequested": rule(checkServerBackground),

	"chat/turnStarted":             rule(checkTurnStarted),
	"chat/turnCancelled":           rule(checkTurnCancelled),
	"chat/turnResume":              rule(checkTurnResume),
	"chat/truncated":               rule(checkTruncated),
	"chat/pendingMessageSet":       rule(checkPendingSet),
	"chat/pendingMessageRemoved":   rule(checkPendingRemoved),
	"chat/queuedMessagesReordered": rule(checkReordered),
	"chat/draftChanged":            rule(checkDraft),
	"chat/toolCallConfirmed":       rule(checkConfirmed),
	"chat/toolCallResultConfirmed": rule(checkResultConfirmed),
	"chat/toolCallComplete":        rule(checkCallComplete),
	"chat/toolCallContentChanged":  rule(checkCallContent),
	"chat/inputAnswerChanged":      rule(checkAnswerChanged),
	"chat/inputCompleted":          rule(checkInputCompleted),
	"chat/workingDirectorySet":     rule(checkChatDir), // AHP requirement 117
	"chat/workingDirectoryRemoved": accept,
	"chat/isReadChanged":           accept,
	"chat/isArchivedChanged":       accept,

	"annotations/set":          rule(checkThreadSet),
	"annotations/updated":      rule(checkThreadUpdated),
	"annotations/removed":      rule(checkThreadRemoved),
	"annotations/entrySet":     rule(checkEntrySet),
	"annotations/entryRemoved": rule(checkEntryRemoved),

	"changeset/filesReviewChanged": rule(checkFilesReviewed),

	"terminal/input":        rule(checkTerminalInput),
	"terminal/resized":      rule(checkTerminalResized),
	"terminal/claimed":      rule(checkTerminalClaimed),
	"terminal/titleChanged": rule(checkTerminalTitle),
	"terminal/cleared":      accept,

	"automation/createRequested":    rule(checkAutomationCreate),
	"automation/updateRequested":    rule(checkAutomationUpdate),
	"automation/removed":            rule(checkAutomationRemoved),
	"automationRun/cancelRequested": rule(checkRunCancel),
}

const (
	fixedDirs = "the directories of a session are fixed here: create another session for another directory"
	noServers = "this host runs no MCP servers"
)

// check looks at one action under the hub's lock: the action to apply, or why not.
type check func(*request, ahp.Action) (ahp.Action, string)

// request is a client's action on its way.
type request struct {
	h      *Host
	tx     *hub.Tx
	caller Caller
	info   hub.ChannelInfo
	state  ahp.State
	now    time.Time
}

func (r *request) stamp() Stamp { return r.caller.stamp(r.now) }

// rule makes a check of a function that knows the channel's state and the action. It is
// given a copy of the action, so that stamping leaves the caller's alone.
func rule[S, T any, PS interface {
	*S
	ahp.State
}, PT interface {
	*T
	ahp.Action
}](f func(*request, PS, PT) string) check {
	return func(r *request, a ahp.Action) (ahp.Action, string) {
		s, here := r.state.(PS)
		in, known := a.(PT)
		if !here || !known {
			return nil, wrongChannel(a)
		}
		c := *in
		if reason := f(r, s, &c); reason != "" {
			return nil, reason
		}
		return PT(&c), ""
	}
}

func wrongChannel(a ahp.Action) string { return a.ActionType() + " does not belong on this channel" }

func accept(r *request, a ahp.Action) (ahp.Action, string) {
	if info, ok := ahp.Info(a.ActionType()); !ok || info.Channel != r.state.Channel() {
		return nil, wrongChannel(a)
	}
	return a, ""
}

func refuse(reason string) check {
	return func(*request, ahp.Action) (ahp.Action, string) { return nil, reason }
}

func checkTitle(_ *request, _ *ahp.SessionState, a *ahp.SessionTitleChangedAction) string {
	a.Title = texts.OneLine(a.Title)
	switch {
	case a.Title == "":
		return "a title needs at least one character"
	case len(a.Title) > mostTitle:
		return "this title is too long: at most 200 bytes"
	}
	return ""
}

func checkChatDir(r *request, _ *ahp.ChatState, a *ahp.ChatWorkingDirectorySetAction) string {
	s, _ := hub.StateOf[*ahp.SessionState](r.tx, r.info.Session)
	if s == nil || !contains(s.WorkingDirectories, a.Directory) {
		return "a chat can only use directories of its session"
	}
	return ""
}
