package ahp

// RootState is a part of the protocol.
type RootState struct {
	Agents         []AgentInfo      `json:"agents"`
	ActiveSessions *int64           `json:"activeSessions,omitempty"`
	Terminals      []TerminalInfo   `json:"terminals,omitzero"`
	Config         *RootConfigState `json:"config,omitempty"`
	Meta           Meta             `json:"_meta,omitzero"`
}

// AgentInfo is a part of the protocol.
type AgentInfo struct {
	Provider           string                      `json:"provider"`
	DisplayName        string                      `json:"displayName"`
	Description        string                      `json:"description"`
	Models             []SessionModelInfo          `json:"models"`
	ProtectedResources []ProtectedResourceMetadata `json:"protectedResources,omitzero"`
	Customizations     []Customization             `json:"customizations,omitzero"`
	Capabilities       *AgentCapabilities          `json:"capabilities,omitempty"`
}

// AgentCapabilities is a part of the protocol.
type AgentCapabilities struct {
	MultipleChats              *MultipleChatsCapability              `json:"multipleChats,omitempty"`
	MultipleWorkingDirectories *MultipleWorkingDirectoriesCapability `json:"multipleWorkingDirectories,omitempty"`
}

// MultipleChatsCapability is a part of the protocol.
type MultipleChatsCapability struct {
	Fork     *bool `json:"fork,omitempty"`
	SideChat *bool `json:"sideChat,omitempty"`
}

// MultipleWorkingDirectoriesCapability is a part of the protocol.
type MultipleWorkingDirectoriesCapability struct {
	ImmutablePrimary   *bool `json:"immutablePrimary,omitempty"`
	PrimaryReplacement *bool `json:"primaryReplacement,omitempty"`
}

// SessionModelInfo is a part of the protocol.
type SessionModelInfo struct {
	ID               string        `json:"id"`
	Provider         string        `json:"provider"`
	Name             string        `json:"name"`
	MaxContextWindow *int64        `json:"maxContextWindow,omitempty"`
	MaxOutputTokens  *int64        `json:"maxOutputTokens,omitempty"`
	MaxPromptTokens  *int64        `json:"maxPromptTokens,omitempty"`
	SupportsVision   *bool         `json:"supportsVision,omitempty"`
	PolicyState      PolicyState   `json:"policyState,omitempty"`
	ConfigSchema     *ConfigSchema `json:"configSchema,omitempty"`
	Meta             Meta          `json:"_meta,omitzero"`
}

// PolicyState is an open set of names: unknown ones survive.
type PolicyState string

// The values of PolicyState.
const (
	PolicyStateEnabled      PolicyState = "enabled"
	PolicyStateDisabled     PolicyState = "disabled"
	PolicyStateUnconfigured PolicyState = "unconfigured"
)
