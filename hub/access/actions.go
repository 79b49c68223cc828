package access

import (
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// actionRights maps each action of the protocol to the right that dispatching it needs. Actions
// that only the host sends are listed too, so a new action is refused until it gets a row.
var actionRights = map[string]Right{
	"root/agentsChanged":         rightHost,
	"root/activeSessionsChanged": rightHost,
	"root/terminalsChanged":      rightHost,
	"root/configChanged":         RightManage,

	"session/ready":                        rightHost,
	"session/creationFailed":               rightHost,
	"session/chatAdded":                    rightHost,
	"session/chatRemoved":                  rightHost,
	"session/chatUpdated":                  rightHost,
	"session/chatsReordered":               rightHost,
	"session/defaultChatChanged":           rightHost,
	"session/activityChanged":              rightHost,
	"session/changesetsChanged":            rightHost,
	"session/serverToolsChanged":           rightHost,
	"session/inputNeededSet":               rightHost,
	"session/inputNeededRemoved":           rightHost,
	"session/customizationsChanged":        rightHost,
	"session/customizationUpdated":         rightHost,
	"session/customizationRemoved":         rightHost,
	"session/mcpServerStateChanged":        rightHost,
	"session/metaChanged":                  rightHost,
	"session/titleChanged":                 RightManage,
	"session/isReadChanged":                RightManage,
	"session/isArchivedChanged":            RightManage,
	"session/configChanged":                RightManage, // only the owner sets `approval`
	"session/workingDirectorySet":          RightManage,
	"session/workingDirectoryRemoved":      RightManage,
	"session/workingDirectoryReplaced":     RightManage,
	"session/customizationToggled":         RightManage,
	"session/mcpServerStartRequested":      RightManage,
	"session/mcpServerStopRequested":       RightManage,
	"session/mcpServerBackgroundRequested": RightManage,
	"session/activeClientSet":              RightPrompt, // offers tools to the agent
	"session/activeClientRemoved":          RightPrompt,

	"chat/responsePart":            rightHost,
	"chat/delta":                   rightHost,
	"chat/reasoning":               rightHost,
	"chat/usage":                   rightHost,
	"chat/turnComplete":            rightHost,
	"chat/error":                   rightHost,
	"chat/activityChanged":         rightHost,
	"chat/turnsLoaded":             rightHost,
	"chat/inputRequested":          rightHost,
	"chat/toolCallStart":           rightHost,
	"chat/toolCallDelta":           rightHost,
	"chat/toolCallReady":           rightHost,
	"chat/toolCallAuthRequired":    rightHost,
	"chat/toolCallAuthResolved":    rightHost,
	"chat/backgroundWorkSet":       rightHost,
	"chat/backgroundWorkRemoved":   rightHost,
	"chat/movableChanged":          rightHost,
	"chat/changesetsChanged":       rightHost,
	"chat/canvasesChanged":         rightHost,
	"chat/turnStarted":             RightPrompt,
	"chat/turnCancelled":           RightPrompt,
	"chat/turnResume":              RightPrompt,
	"chat/draftChanged":            RightPrompt,
	"chat/pendingMessageSet":       RightPrompt,
	"chat/pendingMessageRemoved":   RightPrompt,
	"chat/queuedMessagesReordered": RightPrompt,
	"chat/inputAnswerChanged":      RightPrompt,
	"chat/inputCompleted":          RightPrompt,
	"chat/toolCallComplete":        RightPrompt, // of a client's own tool
	"chat/toolCallContentChanged":  RightPrompt,
	"chat/toolCallConfirmed":       RightApprove,
	"chat/toolCallResultConfirmed": RightApprove,
	"chat/truncated":               RightManage,
	"chat/workingDirectorySet":     RightManage,
	"chat/workingDirectoryRemoved": RightManage,
	"chat/isReadChanged":           RightManage,
	"chat/isArchivedChanged":       RightManage,

	"terminal/data":                      rightHost,
	"terminal/exited":                    rightHost,
	"terminal/cwdChanged":                rightHost,
	"terminal/commandDetectionAvailable": rightHost,
	"terminal/commandExecuted":           rightHost,
	"terminal/commandFinished":           rightHost,
	"terminal/input":                     RightType,
	"terminal/resized":                   RightType,
	"terminal/claimed":                   RightType,
	"terminal/titleChanged":              RightType,
	"terminal/cleared":                   RightType,

	"changeset/statusChanged":          rightHost,
	"changeset/contentChanged":         rightHost,
	"changeset/fileSet":                rightHost,
	"changeset/fileRemoved":            rightHost,
	"changeset/operationsChanged":      rightHost,
	"changeset/operationStatusChanged": rightHost,
	"changeset/cleared":                rightHost,
	"changeset/filesReviewChanged":     RightReview,

	"annotations/set":          RightComment,
	"annotations/updated":      RightComment,
	"annotations/removed":      RightComment,
	"annotations/entrySet":     RightComment,
	"annotations/entryRemoved": RightComment,

	"resourceWatch/changed": rightHost,
	"canvas/stateChanged":   rightHost,

	"automation/set":                      rightHost,
	"automation/createRequested":          RightManage,
	"automation/updateRequested":          RightManage,
	"automation/removed":                  RightManage,
	"automationRun/lifecycleChanged":      rightHost,
	"automationRun/sessionSet":            rightHost,
	"automationRun/sessionRemoved":        rightHost,
	"automationRun/primarySessionChanged": rightHost,
	"automationRun/cancelRequested":       RightManage,
}

// MayAct reports why p may not dispatch an action on a channel; nil when it may. The error is a
// *Denied whose text can serve as a rejectionReason. Checks that need the state (the author of a
// thread, the holder of a claim) are separate: MayResolve, MayEdit.
func MayAct(p Principal, actionType string, ch hub.ChannelInfo) error {
	need, ok := actionRights[actionType]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("this server does not support the action %q", actionType)}
	}
	if need == rightHost {
		return &Denied{need, fmt.Sprintf("only the server sends %s; clients cannot dispatch it", actionType)}
	}
	return p.mayOn(need, ch)
}

// mayOn checks a right on one channel. It checks the scope first, so that a refusal reveals
// nothing about channels the principal cannot see.
func (p Principal) mayOn(need Right, ch hub.ChannelInfo) error {
	if !p.IsKnown() {
		return &Denied{need, "sign in first"}
	}
	if !p.sees(ch) {
		return &Denied{RightRead, "this does not exist or is not shared with you"}
	}
	writesRoot := ch.Kind == ahp.ChannelRoot && need != RightRead && need != RightAccount
	if p.Role != RoleOwner && writesRoot {
		return p.deny(RightManage)
	}
	if need != RightRead && !p.Scope.allowsWrites(ch) {
		return &Denied{need, "your link only covers part of this session. Ask the owner for full access"}
	}
	if !p.Has(need) {
		return p.deny(need)
	}
	return nil
}

// MayResolve reports why p may not resolve or reopen a thread with these authors (principal ids,
// the one who started it first); nil when it may. A guest may resolve their own threads and those
// they wrote in; an agent may resolve those it was sent, which are the session's.
func MayResolve(p Principal, authors ...string) error {
	if p.Role == RoleAgent {
		return nil
	}
	return p.mayTouch(authors, "resolve")
}

// MayEdit reports why p may not change or delete what author wrote; nil when it may.
func MayEdit(p Principal, author string) error { return p.mayTouch([]string{author}, "change") }

func (p Principal) mayTouch(authors []string, what string) error {
	if p.Role == RoleOwner {
		return nil
	}
	if !p.Has(RightComment) {
		return p.deny(RightComment)
	}
	for _, a := range authors {
		if a != "" && a == p.ID {
			return nil
		}
	}
	return &Denied{RightComment, fmt.Sprintf("you can %s only your own threads and comments", what)}
}
