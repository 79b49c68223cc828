package ahp

// RootState is the host at a glance: agents, terminals, settings. Sessions are listed by listSessions instead.
type RootState struct {
	Agents         []AgentInfo      `json:"agents"`
	ActiveSessions *int64           `json:"activeSessions,omitempty"` // sessions that are not disposed
	Terminals      []TerminalInfo   `json:"terminals,omitzero"`
	Config         *RootConfigState `json:"config,omitempty"`
	Meta           Meta             `json:"_meta,omitzero"`
}

// AgentInfo describes one agent backend.
type AgentInfo struct {
	Provider           string                      `json:"provider"`
	DisplayName        string                      `json:"displayName"`
	Description        string                      `json:"description"`
	Models             []SessionModelInfo          `json:"models"`
	ProtectedResources []ProtectedResourceMetadata `json:"protectedResources,omitzero"`
	Customizations     []Customization             `json:"customizations,omitzero"`
	Capabilities       *AgentCapabilities          `json:"capabilities,omitempty"`
}

// AgentCapabilities lists what an agent can do beyond a single chat in a single directory. Absent
// fields are not supported.
type AgentCapabilities struct {
	MultipleChats              *MultipleChatsCapability              `json:"multipleChats,omitempty"`
	MultipleWorkingDirectories *MultipleWorkingDirectoriesCapability `json:"multipleWorkingDirectories,omitempty"`
}

// MultipleChatsCapability is set if a session may have several chats; it lists how new ones may
// start.
type MultipleChatsCapability struct {
	Fork     *bool `json:"fork,omitempty"`
	SideChat *bool `json:"sideChat,omitempty"`
}

// MultipleWorkingDirectoriesCapability is set if a session may have several directories. Its fields
// are about the first.
type MultipleWorkingDirectoriesCapability struct {
	ImmutablePrimary   *bool `json:"immutablePrimary,omitempty"`
	PrimaryReplacement *bool `json:"primaryReplacement,omitempty"`
}

// SessionModelInfo describes a model an agent can use.
type SessionModelInfo struct {
	ID               string        `json:"id"`
	Provider         string        `json:"provider"`
	Name             string        `json:"name"`
	MaxContextWindow *int64        `json:"maxContextWindow,omitempty"` // tokens
	MaxOutputTokens  *int64        `json:"maxOutputTokens,omitempty"`  // tokens
	MaxPromptTokens  *int64        `json:"maxPromptTokens,omitempty"`  // tokens
	SupportsVision   *bool         `json:"supportsVision,omitempty"`
	PolicyState      PolicyState   `json:"policyState,omitempty"`
	ConfigSchema     *ConfigSchema `json:"configSchema,omitempty"`
	Meta             Meta          `json:"_meta,omitzero"`
}

// PolicyState reports whether a policy lets a model be used.
type PolicyState string

// The values of PolicyState.
const (
	PolicyStateEnabled      PolicyState = "enabled"
	PolicyStateDisabled     PolicyState = "disabled"
	PolicyStateUnconfigured PolicyState = "unconfigured"
)
