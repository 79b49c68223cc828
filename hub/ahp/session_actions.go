package ahp

// SessionReadyAction is session/ready: creation succeeded.
type SessionReadyAction struct{}

// ActionType returns "session/ready".
func (*SessionReadyAction) ActionType() string { return "session/ready" }

// SessionCreationFailedAction is session/creationFailed.
type SessionCreationFailedAction struct {
	Error ErrorInfo `json:"error"`
}

// ActionType returns "session/creationFailed".
func (*SessionCreationFailedAction) ActionType() string { return "session/creationFailed" }

// SessionChatAddedAction is session/chatAdded; a known chat is replaced.
type SessionChatAddedAction struct {
	Summary ChatSummary `json:"summary"`
}

// ActionType returns "session/chatAdded".
func (*SessionChatAddedAction) ActionType() string { return "session/chatAdded" }

// SessionChatRemovedAction is session/chatRemoved.
type SessionChatRemovedAction struct {
	Chat URI `json:"chat"`
}

// ActionType returns "session/chatRemoved".
func (*SessionChatRemovedAction) ActionType() string { return "session/chatRemoved" }

// SessionChatUpdatedAction is session/chatUpdated: the fields of one summary that changed.
type SessionChatUpdatedAction struct {
	Chat    URI                `json:"chat"`
	Changes PartialChatSummary `json:"changes"`
}

// ActionType returns "session/chatUpdated".
func (*SessionChatUpdatedAction) ActionType() string { return "session/chatUpdated" }

// SessionDefaultChatChangedAction is session/defaultChatChanged; empty for none.
type SessionDefaultChatChangedAction struct {
	DefaultChat URI `json:"defaultChat,omitempty"`
}

// ActionType returns "session/defaultChatChanged".
func (*SessionDefaultChatChangedAction) ActionType() string { return "session/defaultChatChanged" }

// SessionTitleChangedAction is session/titleChanged.
type SessionTitleChangedAction struct {
	Title string `json:"title"`
}

// ActionType returns "session/titleChanged".
func (*SessionTitleChangedAction) ActionType() string { return "session/titleChanged" }

// SessionIsReadChangedAction is session/isReadChanged.
type SessionIsReadChangedAction struct {
	IsRead bool `json:"isRead"`
}

// ActionType returns "session/isReadChanged".
func (*SessionIsReadChangedAction) ActionType() string { return "session/isReadChanged" }

// SessionIsArchivedChangedAction is session/isArchivedChanged.
type SessionIsArchivedChangedAction struct {
	IsArchived bool `json:"isArchived"`
}

// ActionType returns "session/isArchivedChanged".
func (*SessionIsArchivedChangedAction) ActionType() string { return "session/isArchivedChanged" }

// SessionActivityChangedAction is session/activityChanged; empty clears it.
type SessionActivityChangedAction struct {
	Activity string `json:"activity,omitempty"`
}

// ActionType returns "session/activityChanged".
func (*SessionActivityChangedAction) ActionType() string { return "session/activityChanged" }

// SessionChangesetsChangedAction is session/changesetsChanged: all changesets, or nil for none.
type SessionChangesetsChangedAction struct {
	Changesets []Changeset `json:"changesets,omitzero"`
}

// ActionType returns "session/changesetsChanged".
func (*SessionChangesetsChangedAction) ActionType() string { return "session/changesetsChanged" }

// SessionServerToolsChangedAction is session/serverToolsChanged: all tools of the host.
type SessionServerToolsChangedAction struct {
	Tools []ToolDefinition `json:"tools"`
}

// ActionType returns "session/serverToolsChanged".
func (*SessionServerToolsChangedAction) ActionType() string { return "session/serverToolsChanged" }

// SessionActiveClientSetAction is session/activeClientSet, which adds a client or replaces all it
// lends.
type SessionActiveClientSetAction struct {
	ActiveClient SessionActiveClient `json:"activeClient"`
}

// ActionType returns "session/activeClientSet".
func (*SessionActiveClientSetAction) ActionType() string { return "session/activeClientSet" }

// SessionActiveClientRemovedAction is session/activeClientRemoved.
type SessionActiveClientRemovedAction struct {
	ClientID string `json:"clientId"`
}

// ActionType returns "session/activeClientRemoved".
func (*SessionActiveClientRemovedAction) ActionType() string { return "session/activeClientRemoved" }

// SessionWorkingDirectorySetAction is session/workingDirectorySet, which adds a directory.
type SessionWorkingDirectorySetAction struct {
	Directory URI `json:"directory"`
}

// ActionType returns "session/workingDirectorySet".
func (*SessionWorkingDirectorySetAction) ActionType() string { return "session/workingDirectorySet" }

// SessionWorkingDirectoryRemovedAction is session/workingDirectoryRemoved.
type SessionWorkingDirectoryRemovedAction struct {
	Directory URI `json:"directory"`
}

// ActionType returns "session/workingDirectoryRemoved".
func (*SessionWorkingDirectoryRemovedAction) ActionType() string {
	return "session/workingDirectoryRemoved"
}

// SessionInputNeededSetAction is session/inputNeededSet, which adds a request or replaces it by id.
type SessionInputNeededSetAction struct {
	Request SessionInputRequest `json:"request"`
}

// ActionType returns "session/inputNeededSet".
func (*SessionInputNeededSetAction) ActionType() string { return "session/inputNeededSet" }

// SessionInputNeededRemovedAction is session/inputNeededRemoved.
type SessionInputNeededRemovedAction struct {
	ID string `json:"id"`
}

// ActionType returns "session/inputNeededRemoved".
func (*SessionInputNeededRemovedAction) ActionType() string { return "session/inputNeededRemoved" }

// SessionCustomizationsChangedAction is session/customizationsChanged: the whole tree.
type SessionCustomizationsChangedAction struct {
	Customizations []Customization `json:"customizations"`
}

// ActionType returns "session/customizationsChanged".
func (*SessionCustomizationsChangedAction) ActionType() string {
	return "session/customizationsChanged"
}

// SessionCustomizationToggledAction is session/customizationToggled: all decisions about one entry.
type SessionCustomizationToggledAction struct {
	ID         string                    `json:"id"`
	Enablement []CustomizationEnablement `json:"enablement"`
}

// ActionType returns "session/customizationToggled".
func (*SessionCustomizationToggledAction) ActionType() string { return "session/customizationToggled" }

// SessionCustomizationUpdatedAction is session/customizationUpdated: a complete top-level entry,
// with its children.
type SessionCustomizationUpdatedAction struct {
	Customization Customization `json:"customization"`
}

// ActionType returns "session/customizationUpdated".
func (*SessionCustomizationUpdatedAction) ActionType() string { return "session/customizationUpdated" }

// SessionCustomizationRemovedAction is session/customizationRemoved.
type SessionCustomizationRemovedAction struct {
	ID string `json:"id"`
}

// ActionType returns "session/customizationRemoved".
func (*SessionCustomizationRemovedAction) ActionType() string { return "session/customizationRemoved" }

// SessionMcpServerStateChangedAction is session/mcpServerStateChanged; no Channel means no side
// channel.
type SessionMcpServerStateChangedAction struct {
	ID      string         `json:"id"`
	State   McpServerState `json:"state"`
	Channel URI            `json:"channel,omitempty"`
}

// ActionType returns "session/mcpServerStateChanged".
func (*SessionMcpServerStateChangedAction) ActionType() string {
	return "session/mcpServerStateChanged"
}

// SessionMcpServerStartRequestedAction is session/mcpServerStartRequested.
type SessionMcpServerStartRequestedAction struct {
	ID string `json:"id"`
}

// ActionType returns "session/mcpServerStartRequested".
func (*SessionMcpServerStartRequestedAction) ActionType() string {
	return "session/mcpServerStartRequested"
}

// SessionMcpServerStopRequestedAction is session/mcpServerStopRequested.
type SessionMcpServerStopRequestedAction struct {
	ID string `json:"id"`
}

// ActionType returns "session/mcpServerStopRequested".
func (*SessionMcpServerStopRequestedAction) ActionType() string {
	return "session/mcpServerStopRequested"
}

// SessionConfigChangedAction is session/configChanged: settings to merge, or with Replace all
// settings.
type SessionConfigChangedAction struct {
	Config  Meta  `json:"config"`
	Replace *bool `json:"replace,omitempty"`
}

// ActionType returns "session/configChanged".
func (*SessionConfigChangedAction) ActionType() string { return "session/configChanged" }

// SessionMetaChangedAction is session/metaChanged: all of _meta.
type SessionMetaChangedAction struct {
	Meta Meta `json:"_meta,omitzero"`
}

// ActionType returns "session/metaChanged".
func (*SessionMetaChangedAction) ActionType() string { return "session/metaChanged" }

// SessionChatsReorderedAction is session/chatsReordered: every chat exactly once.
type SessionChatsReorderedAction struct {
	Chats []URI `json:"chats"`
}

// ActionType returns "session/chatsReordered".
func (*SessionChatsReorderedAction) ActionType() string { return "session/chatsReordered" }

// SessionWorkingDirectoryReplacedAction is session/workingDirectoryReplaced: it replaces one
// directory by another.
type SessionWorkingDirectoryReplacedAction struct {
	Directory   URI `json:"directory"`
	Replacement URI `json:"replacement"`
}

// ActionType returns "session/workingDirectoryReplaced".
func (*SessionWorkingDirectoryReplacedAction) ActionType() string {
	return "session/workingDirectoryReplaced"
}

// SessionMcpServerBackgroundRequestedAction is session/mcpServerBackgroundRequested: messages need not wait for its
// start.
type SessionMcpServerBackgroundRequestedAction struct {
	ID string `json:"id"`
}

// ActionType returns "session/mcpServerBackgroundRequested".
func (*SessionMcpServerBackgroundRequestedAction) ActionType() string {
	return "session/mcpServerBackgroundRequested"
}
