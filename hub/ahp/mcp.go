package ahp

// McpServerCustomization is a part of the protocol.
type McpServerCustomization struct {
	ID         string                      `json:"id"`
	URI        URI                         `json:"uri"`
	Name       string                      `json:"name"`
	Icons      []Icon                      `json:"icons,omitzero"`
	Range      *TextRange                  `json:"range,omitempty"`
	Enablement []CustomizationEnablement   `json:"enablement,omitzero"`
	State      McpServerState              `json:"state"`
	Channel    URI                         `json:"channel,omitempty"`
	McpApp     *McpServerCustomizationApps `json:"mcpApp,omitempty"`
	Meta       Meta                        `json:"_meta,omitzero"`
}

// McpServerCustomizationApps is a part of the protocol.
type McpServerCustomizationApps struct {
	Capabilities AhpMcpUiHostCapabilities `json:"capabilities"`
}

// AhpMcpUiHostCapabilities is a part of the protocol.
type AhpMcpUiHostCapabilities struct {
	ServerTools     *McpListChangedCapability `json:"serverTools,omitempty"`
	ServerResources *McpListChangedCapability `json:"serverResources,omitempty"`
	Logging         Meta                      `json:"logging,omitzero"`
	Sampling        *McpSamplingCapability    `json:"sampling,omitempty"`
}

// McpListChangedCapability is a part of the protocol.
type McpListChangedCapability struct {
	ListChanged *bool `json:"listChanged,omitempty"`
}

// McpSamplingCapability is a part of the protocol.
type McpSamplingCapability struct {
	Tools Meta `json:"tools,omitzero"`
}

// McpServerState is one of the kinds of McpServerStateValue.
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

// McpServerStartingState is a part of the protocol.
type McpServerStartingState struct {
	Blocking *bool `json:"blocking,omitempty"`
}

// McpServerReadyState is a part of the protocol.
type McpServerReadyState struct{}

// McpServerAuthRequiredState is a part of the protocol.
type McpServerAuthRequiredState struct {
	Reason         McpAuthRequiredReason     `json:"reason"`
	OauthClient    *McpOAuthClient           `json:"oauthClient,omitempty"`
	Resource       ProtectedResourceMetadata `json:"resource"`
	RequiredScopes []string                  `json:"requiredScopes,omitzero"`
	Description    string                    `json:"description,omitempty"`
}

// McpServerErrorState is a part of the protocol.
type McpServerErrorState struct {
	Error ErrorInfo `json:"error"`
}

// McpServerStoppedState is a part of the protocol.
type McpServerStoppedState struct{}

// McpAuthRequiredReason is an open set of names: unknown ones survive.
type McpAuthRequiredReason string

// The values of McpAuthRequiredReason.
const (
	McpAuthRequiredReasonRequired          McpAuthRequiredReason = "required"
	McpAuthRequiredReasonExpired           McpAuthRequiredReason = "expired"
	McpAuthRequiredReasonInsufficientScope McpAuthRequiredReason = "insufficientScope"
)

// McpOAuthClient is a part of the protocol.
type McpOAuthClient struct {
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`
}

// McpAuthRequirement is a part of the protocol.
type McpAuthRequirement struct {
	Reason         McpAuthRequiredReason     `json:"reason"`
	OauthClient    *McpOAuthClient           `json:"oauthClient,omitempty"`
	Resource       ProtectedResourceMetadata `json:"resource"`
	RequiredScopes []string                  `json:"requiredScopes,omitzero"`
	Description    string                    `json:"description,omitempty"`
}
