package host

import (
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
)

// newRules returns the checks of clients' actions (AHP requirement 35). A rule may set fields of
// its copy that only the host knows: principal, time, duration.
func (h *Host) newRules() map[string]core.Check {
	rules := h.ownRules()
	mergeTables(rules, h.Changes.Rules())
	mergeTables(rules, h.Threads.Rules())
	mergeTables(rules, h.Automations.Rules())
	mergeTables(rules, h.Customs.Rules())
	mergeTables(rules, h.Terminals.Rules())
	mergeTables(rules, h.clients.Rules())
	return rules
}

// mergeTables adds a part's table to the host's.
func mergeTables[V any](host, part map[string]V) {
	for action, v := range part {
		if _, twice := host[action]; twice {
			panic("host: two parts handle " + action)
		}
		host[action] = v
	}
}

// ownRules returns the checks of sessions, chats, turns and tools.
func (h *Host) ownRules() map[string]core.Check {
	return map[string]core.Check{
		"root/configChanged": core.Refuse("this server has no settings that clients can change"),

		"session/titleChanged":             core.Rule(checkTitle),
		"session/isReadChanged":            core.Accept,
		"session/isArchivedChanged":        core.Accept,
		"session/configChanged":            core.Rule(h.checkConfigChanged),
		"session/workingDirectorySet":      core.Rule(h.checkDirSet),
		"session/workingDirectoryRemoved":  core.Rule(h.checkDirRemoved), // AHP requirement 83
		"session/workingDirectoryReplaced": core.Rule(h.checkDirReplaced),

		"chat/turnStarted":             core.Rule(h.turns.checkTurnStarted),
		"chat/turnCancelled":           core.Rule(checkTurnCancelled),
		"chat/turnResume":              core.Rule(h.turns.checkTurnResume),
		"chat/truncated":               core.Rule(h.turns.checkTruncated),
		"chat/pendingMessageSet":       core.Rule(h.turns.checkPendingSet),
		"chat/pendingMessageRemoved":   core.Rule(checkPendingRemoved),
		"chat/queuedMessagesReordered": core.Rule(checkReordered),
		"chat/draftChanged":            core.Rule(h.turns.checkDraft),
		"chat/toolCallConfirmed":       core.Rule(h.turns.checkConfirmed),
		"chat/toolCallResultConfirmed": core.Rule(checkResultConfirmed),
		"chat/toolCallComplete":        core.Rule(checkCallComplete),
		"chat/toolCallContentChanged":  core.Rule(checkCallContent),
		"chat/inputAnswerChanged":      core.Rule(checkAnswerChanged),
		"chat/inputCompleted":          core.Rule(checkInputCompleted),
		"chat/workingDirectorySet":     core.Rule(checkChatDir), // AHP requirement 117
		"chat/workingDirectoryRemoved": core.Accept,
		"chat/isReadChanged":           core.Accept,
		"chat/isArchivedChanged":       core.Accept,
	}
}

const (
	fixedDirs = "the directories of a session are fixed here: create another session for another directory"
)

func checkTitle(_ *core.Request, _ *ahp.SessionState, a *ahp.SessionTitleChangedAction) string {
	a.Title = texts.OneLine(a.Title)
	switch {
	case a.Title == "":
		return "a title needs at least one character"
	case len(a.Title) > core.MaxTitle:
		return "this title is too long. Use at most 200 bytes"
	}
	return ""
}

func checkChatDir(r *core.Request, _ *ahp.ChatState, a *ahp.ChatWorkingDirectorySetAction) string {
	s, _ := hub.StateOf[*ahp.SessionState](r.Tx, r.Info.Session)
	if s == nil || !slices.Contains(s.WorkingDirectories, a.Directory) {
		return "a chat can only use directories of its session"
	}
	return ""
}
