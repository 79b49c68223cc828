package main

// auditedActions are the actions that are written down, in words. What was typed never is.
var auditedActions = map[string]string{
	"chat/toolCallConfirmed":               "answered an approval",
	"chat/toolCallResultConfirmed":         "answered an approval",
	"chat/truncated":                       "took back turns of a chat",
	"chat/workingDirectorySet":             "changed a chat's directories",
	"chat/workingDirectoryRemoved":         "changed a chat's directories",
	"terminal/input":                       "typed in a terminal",
	"terminal/claimed":                     "took or released a terminal",
	"session/titleChanged":                 "renamed a session",
	"session/isArchivedChanged":            "archived or took back a session",
	"session/configChanged":                "changed a session's settings",
	"session/workingDirectorySet":          "changed a session's directories",
	"session/workingDirectoryRemoved":      "changed a session's directories",
	"session/workingDirectoryReplaced":     "changed a session's directories",
	"session/customizationToggled":         "switched a customization on or off",
	"session/mcpServerStartRequested":      "started, stopped or trusted an MCP server",
	"session/mcpServerStopRequested":       "started, stopped or trusted an MCP server",
	"session/mcpServerBackgroundRequested": "started, stopped or trusted an MCP server",
	"root/configChanged":                   "changed the host's settings",
	"automation/createRequested":           "made an automation",
	"automation/updateRequested":           "changed an automation",
	"automation/removed":                   "removed an automation",
	"automationRun/cancelRequested":        "cancelled a run of an automation",
}

const (
	inTimeline = "it is in the session's timeline, with who did it"
	howItLooks = "it changes how something is shown, and nothing else"
	changesNot = "it changes nothing"
)

// notAuditedActions are the others that somebody may dispatch, and why they are not.
var notAuditedActions = map[string]string{
	"chat/turnStarted":             inTimeline,
	"chat/turnCancelled":           inTimeline,
	"chat/turnResume":              inTimeline,
	"chat/draftChanged":            "it is nobody's until it is sent",
	"chat/pendingMessageSet":       inTimeline,
	"chat/pendingMessageRemoved":   inTimeline,
	"chat/queuedMessagesReordered": inTimeline,
	"chat/inputAnswerChanged":      inTimeline,
	"chat/inputCompleted":          inTimeline,
	"chat/toolCallComplete":        inTimeline,
	"chat/toolCallContentChanged":  inTimeline,
	"chat/isReadChanged":           howItLooks,
	"chat/isArchivedChanged":       howItLooks,
	"session/isReadChanged":        howItLooks,
	"session/activeClientSet":      inTimeline,
	"session/activeClientRemoved":  inTimeline,
	"terminal/resized":             howItLooks,
	"terminal/titleChanged":        howItLooks,
	"terminal/cleared":             howItLooks,
	"changeset/filesReviewChanged": inTimeline,
	"annotations/set":              inTimeline,
	"annotations/updated":          inTimeline,
	"annotations/removed":          inTimeline,
	"annotations/entrySet":         inTimeline,
	"annotations/entryRemoved":     inTimeline,
}

// auditedMethods are the calls that are written down, in words.
var auditedMethods = map[string]string{
	"createSession":            "made a session",
	"disposeSession":           "deleted a session",
	"disposeChat":              "deleted a chat",
	"moveChat":                 "moved a chat",
	"createTerminal":           "opened a terminal",
	"disposeTerminal":          "closed a terminal",
	"resourceWrite":            "wrote a file",
	"resourceMkdir":            "made a directory",
	"resourceCopy":             "copied a file",
	"resourceMove":             "moved a file",
	"resourceDelete":           "deleted a file",
	"resourceRequest":          "asked for files",
	"invokeChangesetOperation": "changed files",
	"authenticate":             "signed an agent in",
	"runAutomation":            "ran an automation",
}

// notAuditedMethods are the others, and why they are not.
var notAuditedMethods = map[string]string{
	"initialize":                       changesNot,
	"reconnect":                        changesNot,
	"ping":                             changesNot,
	"subscribe":                        changesNot,
	"unsubscribe":                      changesNot,
	"listSessions":                     changesNot,
	"fetchTurns":                       changesNot,
	"completions":                      changesNot,
	"resourceRead":                     changesNot,
	"resourceList":                     changesNot,
	"resourceResolve":                  changesNot,
	"createResourceWatch":              changesNot,
	"resolveSessionConfig":             changesNot,
	"sessionConfigCompletions":         changesNot,
	"listAutomationTriggerDefinitions": changesNot,
	"fetchAutomationRuns":              changesNot,
	"createChat":                       inTimeline,
	"dispatchAction":                   "each action has a row of its own",
}
