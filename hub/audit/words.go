package audit

// actions maps audited actions to words. Entries never contain input.
var actions = map[string]string{
	"chat/toolCallConfirmed":               "answered an approval",
	"chat/toolCallResultConfirmed":         "answered an approval",
	"chat/truncated":                       "removed turns of a chat",
	"chat/workingDirectorySet":             "changed a chat's directories",
	"chat/workingDirectoryRemoved":         "changed a chat's directories",
	"terminal/input":                       "typed in a terminal",
	"terminal/claimed":                     "took or released control of a terminal",
	"session/titleChanged":                 "renamed a session",
	"session/isArchivedChanged":            "archived or unarchived a session",
	"session/configChanged":                "changed a session's settings",
	"session/workingDirectorySet":          "changed a session's directories",
	"session/workingDirectoryRemoved":      "changed a session's directories",
	"session/workingDirectoryReplaced":     "changed a session's directories",
	"session/customizationToggled":         "turned a customization on or off",
	"session/mcpServerStartRequested":      "started, stopped or trusted an MCP server",
	"session/mcpServerStopRequested":       "started, stopped or trusted an MCP server",
	"session/mcpServerBackgroundRequested": "started, stopped or trusted an MCP server",
	"root/configChanged":                   "changed the server's settings",
	"automation/createRequested":           "created an automation",
	"automation/updateRequested":           "changed an automation",
	"automation/removed":                   "removed an automation",
	"automationRun/cancelRequested":        "cancelled a run of an automation",
}

const (
	inTimeline = "it is in the session's timeline, with its author"
	howItLooks = "it changes how something is shown, and nothing else"
	changesNot = "it changes nothing"
)

// notActions maps the other actions that a client may dispatch to why they are not audited.
var notActions = map[string]string{
	"chat/turnStarted":             inTimeline,
	"chat/turnCancelled":           inTimeline,
	"chat/turnResume":              inTimeline,
	"chat/draftChanged":            "it is its author's alone until it is sent",
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

// method is an audited call, in words.
type method struct {
	what string
	kind Kind
}

// methods are the audited calls.
var methods = map[string]method{
	"createSession":            {"created a session", Inside},
	"disposeSession":           {"deleted a session", Inside},
	"disposeChat":              {"deleted a chat", Inside},
	"moveChat":                 {"moved a chat", Inside},
	"createTerminal":           {"opened a terminal", Inside},
	"disposeTerminal":          {"closed a terminal", Inside},
	"resourceWrite":            {"wrote a file", Outside},
	"resourceMkdir":            {"created a directory", Outside},
	"resourceCopy":             {"copied a file", Outside},
	"resourceMove":             {"moved a file", Outside},
	"resourceDelete":           {"deleted a file", Outside},
	"resourceRequest":          {"asked for files", Outside},
	"invokeChangesetOperation": {"changed files", Outside},
	"authenticate":             {"signed in an agent", Outside},
	"runAutomation":            {"ran an automation", Inside},
}

// notMethods maps the other methods to why they are not audited.
var notMethods = map[string]string{
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
	"dispatchAction":                   "each action has its own row",
}
