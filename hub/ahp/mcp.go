package ahp

// McpServerCustomization is an MCP server.
type McpServerCustomization struct {
	ID         string                    `json:"id"`
	URI        URI                       `json:"uri"`
	Name       string                    `json:"name"`
	Icons      []Icon                    `json:"icons,omitzero"`
	Range      *TextRange                `json:"range,omitempty"`
	Enablement []CustomizationEnablement `json:"enablement,omitzero"`
	State      McpServerState            `json:"state"`
	// mcp:// side channel, present only while the server can be used
	Channel URI                         `json:"channel,omitempty"`
	McpApp  *McpServerCustomizationApps `json:"mcpApp,omitempty"`
	Meta    Meta                        `json:"_meta,omitzero"`
}

// McpServerCustomizationApps is set if MCP apps can reach the server.
type McpServerCustomizationApps struct {
	Capabilities AhpMcpUiHostCapabilities `json:"capabilities"`
}

// AhpMcpUiHostCapabilities lists what the host does for an MCP app. Only what is listed may be called
// (AHP requirement 194).
type AhpMcpUiHostCapabilities struct {
	ServerTools     *McpListChangedCapability `json:"serverTools,omitempty"`
	ServerResources *McpListChangedCapability `json:"serverResources,omitempty"`
	Logging         Meta                      `json:"logging,omitzero"`
	Sampling        *McpSamplingCapability    `json:"sampling,omitempty"`
}

// McpListChangedCapability reports whether changes of a list are announced.
type McpListChangedCapability struct {
	ListChanged *bool `json:"listChanged,omitempty"`
}

// McpSamplingCapability is set if sampling is offered.
type McpSamplingCapability struct {
	Tools Meta `json:"tools,omitzero"`
}

// McpServerState is the status of an MCP server.
type McpServerState struct{ Value McpServerStateValue }

// McpServerStateValue is implemented by *McpServerStartingState, *McpServerReadyState, *McpServerAuthRequiredState,
// *McpServerErrorState, *McpServerStoppedState and *UnknownVariant.
type McpServerStateValue interface{ isMcpServerState() }

func (*McpServerStartingState) isMcpServerState()     {}
func (*McpServerReadyState) isMcpServerState()        {}
func (*McpServerAuthRequiredState) isMcpServerState() {}
func (*McpServerErrorState) isMcpServerState()        {}
func (*McpServerStoppedState) isMcpServerState()      {}
func (*UnknownVariant) isMcpServerState()             {}

// MarshalJSON writes the variant with its discriminator.
func (u McpServerState) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *McpServerState) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// McpServerStartingState: the server is starting.
type McpServerStartingState struct {
	Blocking *bool `json:"blocking,omitempty"` // new messages wait for it
}

// McpServerReadyState: the server can be used.
type McpServerReadyState struct{}

// McpServerAuthRequiredState: the server needs a token.
type McpServerAuthRequiredState struct {
	Reason         McpAuthRequiredReason     `json:"reason"`
	OauthClient    *McpOAuthClient           `json:"oauthClient,omitempty"`
	Resource       ProtectedResourceMetadata `json:"resource"`
	RequiredScopes []string                  `json:"requiredScopes,omitzero"`
	Description    string                    `json:"description,omitempty"`
}

// McpServerErrorState: the server failed.
type McpServerErrorState struct {
	Error ErrorInfo `json:"error"`
}

// McpServerStoppedState: the server is stopped.
type McpServerStoppedState struct{}

// McpAuthRequiredReason is the reason a token is needed.
type McpAuthRequiredReason string

// The values of McpAuthRequiredReason.
const (
	McpAuthRequiredReasonRequired          McpAuthRequiredReason = "required"
	McpAuthRequiredReasonExpired           McpAuthRequiredReason = "expired"
	McpAuthRequiredReasonInsufficientScope McpAuthRequiredReason = "insufficientScope"
)

// McpOAuthClient is a client registration to use for a sign-in.
type McpOAuthClient struct {
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`
}

// McpAuthRequirement describes the token an MCP server needs.
type McpAuthRequirement struct {
	Reason         McpAuthRequiredReason     `json:"reason"`
	OauthClient    *McpOAuthClient           `json:"oauthClient,omitempty"`
	Resource       ProtectedResourceMetadata `json:"resource"`
	RequiredScopes []string                  `json:"requiredScopes,omitzero"`
	Description    string                    `json:"description,omitempty"`
}
