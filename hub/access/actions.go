package access

import (
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// actionRights names the right to dispatch each action of the protocol. What only the host
// sends stands here too, so that a new action is missing until somebody decided about it.
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
	"session/configChanged":                RightManage, // `approval` is the owner's
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
	"chat/toolCallComplete":        RightPrompt, // a client's own tool
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

// MayAct reports whether p may dispatch an action on a channel; the error is a *Denied whose
// text can stand in a rejectionReason. What it needs of the state (whose thread, whose
// claim) is asked apart: MayResolve, MayEdit.
func MayAct(p Principal, actionType string, ch hub.ChannelInfo) error {
	need, ok := actionRights[actionType]
	if !ok {
		return &Denied{rightHost, fmt.Sprintf("this host does not know the action %q", actionType)}
	}
	if need == rightHost {
		return &Denied{need, fmt.Sprintf("only the host sends %s", actionType)}
	}
	return p.may(need, ch)
}

// may checks a right on one channel: scope first, so that nothing is told about what
// somebody cannot see.
func (p Principal) may(need Right, ch hub.ChannelInfo) error {
	if !p.Known() {
		return &Denied{need, "sign in first"}
	}
	if !p.sees(ch) {
		return &Denied{RightRead, "there is no such thing here, or it is not shared with you"}
	}
	writesRoot := ch.Kind == ahp.ChannelRoot && need != RightRead && need != RightAccount
	if p.Role != RoleOwner && writesRoot {
		return p.deny(RightManage)
	}
	if need != RightRead && !p.Scope.writes(ch) {
		return &Denied{need, "your link is for a part of this session, and this concerns all of it: ask the owner"}
	}
	if !p.Has(need) {
		return p.deny(need)
	}
	return nil
}

// MayResolve reports whether p may resolve or reopen a thread with these authors (principal
// ids, the one who started it first): a guest their own threads and those they wrote in, an
// agent those it was sent, which are the session's.
func MayResolve(p Principal, authors ...string) error {
	if p.Role == RoleAgent {
		return nil
	}
	return p.mine(authors, "resolve")
}

// MayEdit reports whether p may change or delete what the author wrote.
func MayEdit(p Principal, author string) error { return p.mine([]string{author}, "change") }

func (p Principal) mine(authors []string, what string) error {
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
	return &Denied{RightComment, fmt.Sprintf("you may %s only threads and comments of your own", what)}
}
