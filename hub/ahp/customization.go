package ahp

// Customization is one of the kinds of CustomizationValue.
type Customization struct{ Value CustomizationValue }

// CustomizationValue is implemented by *PluginCustomization, *DirectoryCustomization, *McpServerCustomization and
// *UnknownVariant.
type CustomizationValue interface{ isCustomization() }

func (*PluginCustomization) isCustomization()    {}
func (*DirectoryCustomization) isCustomization() {}
func (*McpServerCustomization) isCustomization() {}
func (*UnknownVariant) isCustomization()         {}

// MarshalJSON writes the variant with its discriminator.
func (u Customization) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *Customization) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// ChildCustomization is one of the kinds of ChildCustomizationValue.
type ChildCustomization struct{ Value ChildCustomizationValue }

// ChildCustomizationValue is implemented by *AgentCustomization, *SkillCustomization, *PromptCustomization,
// *RuleCustomization, *HookCustomization, *McpServerCustomization and *UnknownVariant.
type ChildCustomizationValue interface{ isChildCustomization() }

func (*AgentCustomization) isChildCustomization()     {}
func (*SkillCustomization) isChildCustomization()     {}
func (*PromptCustomization) isChildCustomization()    {}
func (*RuleCustomization) isChildCustomization()      {}
func (*HookCustomization) isChildCustomization()      {}
func (*McpServerCustomization) isChildCustomization() {}
func (*UnknownVariant) isChildCustomization()         {}

// MarshalJSON writes the variant with its discriminator.
func (u ChildCustomization) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *ChildCustomization) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// PluginCustomization is a part of the protocol.
type PluginCustomization struct {
	ID         string                    `json:"id"`
	URI        URI                       `json:"uri"`
	Name       string                    `json:"name"`
	Icons      []Icon                    `json:"icons,omitzero"`
	Range      *TextRange                `json:"range,omitempty"`
	Enablement []CustomizationEnablement `json:"enablement,omitzero"`
	ClientID   string                    `json:"clientId,omitempty"`
	Load       *CustomizationLoadState   `json:"load,omitempty"`
	Children   []ChildCustomization      `json:"children,omitzero"`
	Version    string                    `json:"version,omitempty"`
	Meta       Meta                      `json:"_meta,omitzero"`
}

// ClientPluginCustomization is a part of the protocol.
type ClientPluginCustomization struct {
	ID              string                               `json:"id"`
	URI             URI                                  `json:"uri"`
	Name            string                               `json:"name"`
	Icons           []Icon                               `json:"icons,omitzero"`
	Range           *TextRange                           `json:"range,omitempty"`
	Enablement      []CustomizationEnablement            `json:"enablement,omitzero"`
	ChildEnablement map[string][]CustomizationEnablement `json:"childEnablement,omitzero"`
	ClientID        string                               `json:"clientId,omitempty"`
	Load            *CustomizationLoadState              `json:"load,omitempty"`
	Children        []ChildCustomization                 `json:"children,omitzero"`
	Version         string                               `json:"version,omitempty"`
	Nonce           string                               `json:"nonce,omitempty"`
	Meta            Meta                                 `json:"_meta,omitzero"`
}

// DirectoryCustomization is a part of the protocol.
type DirectoryCustomization struct {
	ID       string                  `json:"id"`
	URI      URI                     `json:"uri"`
	Name     string                  `json:"name"`
	Icons    []Icon                  `json:"icons,omitzero"`
	Range    *TextRange              `json:"range,omitempty"`
	Enabled  bool                    `json:"enabled"`
	ClientID string                  `json:"clientId,omitempty"`
	Load     *CustomizationLoadState `json:"load,omitempty"`
	Children []ChildCustomization    `json:"children,omitzero"`
	Contents ChildCustomizationType  `json:"contents"`
	Writable bool                    `json:"writable"`
	Meta     Meta                    `json:"_meta,omitzero"`
}

// ChildCustomizationType is an open set of names: unknown ones survive.
type ChildCustomizationType string

// The values of ChildCustomizationType.
const (
	ChildCustomizationTypeAgent     ChildCustomizationType = "agent"
	ChildCustomizationTypeSkill     ChildCustomizationType = "skill"
	ChildCustomizationTypePrompt    ChildCustomizationType = "prompt"
	ChildCustomizationTypeRule      ChildCustomizationType = "rule"
	ChildCustomizationTypeHook      ChildCustomizationType = "hook"
	ChildCustomizationTypeMcpServer ChildCustomizationType = "mcpServer"
)

// AgentCustomization is a part of the protocol.
type AgentCustomization struct {
	ID                     string     `json:"id"`
	URI                    URI        `json:"uri"`
	Name                   string     `json:"name"`
	Icons                  []Icon     `json:"icons,omitzero"`
	Range                  *TextRange `json:"range,omitempty"`
	Enabled                *bool      `json:"enabled,omitempty"`
	Description            string     `json:"description,omitempty"`
	Model                  string     `json:"model,omitempty"`
	Tools                  []string   `json:"tools,omitzero"`
	DisableModelInvocation *bool      `json:"disableModelInvocation,omitempty"`
	DisableUserInvocation  *bool      `json:"disableUserInvocation,omitempty"`
	Meta                   Meta       `json:"_meta,omitzero"`
}

// SkillCustomization is a part of the protocol.
type SkillCustomization struct {
	ID                     string     `json:"id"`
	URI                    URI        `json:"uri"`
	Name                   string     `json:"name"`
	Icons                  []Icon     `json:"icons,omitzero"`
	Range                  *TextRange `json:"range,omitempty"`
	Enabled                *bool      `json:"enabled,omitempty"`
	Description            string     `json:"description,omitempty"`
	DisableModelInvocation *bool      `json:"disableModelInvocation,omitempty"`
	DisableUserInvocation  *bool      `json:"disableUserInvocation,omitempty"`
	Meta                   Meta       `json:"_meta,omitzero"`
}

// PromptCustomization is a part of the protocol.
type PromptCustomization struct {
	ID          string     `json:"id"`
	URI         URI        `json:"uri"`
	Name        string     `json:"name"`
	Icons       []Icon     `json:"icons,omitzero"`
	Range       *TextRange `json:"range,omitempty"`
	Enabled     *bool      `json:"enabled,omitempty"`
	Description string     `json:"description,omitempty"`
	Meta        Meta       `json:"_meta,omitzero"`
}

// RuleCustomization is a part of the protocol.
type RuleCustomization struct {
	ID          string     `json:"id"`
	URI         URI        `json:"uri"`
	Name        string     `json:"name"`
	Icons       []Icon     `json:"icons,omitzero"`
	Range       *TextRange `json:"range,omitempty"`
	Enabled     *bool      `json:"enabled,omitempty"`
	Description string     `json:"description,omitempty"`
	AlwaysApply *bool      `json:"alwaysApply,omitempty"`
	Globs       []string   `json:"globs,omitzero"`
	Meta        Meta       `json:"_meta,omitzero"`
}

// HookCustomization is a part of the protocol.
type HookCustomization struct {
	ID      string     `json:"id"`
	URI     URI        `json:"uri"`
	Name    string     `json:"name"`
	Icons   []Icon     `json:"icons,omitzero"`
	Range   *TextRange `json:"range,omitempty"`
	Enabled *bool      `json:"enabled,omitempty"`
	Meta    Meta       `json:"_meta,omitzero"`
}

// CustomizationLoadState is one of the kinds of CustomizationLoadStateValue.
type CustomizationLoadState struct{ Value CustomizationLoadStateValue }

// CustomizationLoadStateValue is implemented by *CustomizationLoadingState, *CustomizationLoadedState,
// *CustomizationDegradedState, *CustomizationErrorState and *UnknownVariant.
type CustomizationLoadStateValue interface{ isCustomizationLoadState() }

func (*CustomizationLoadingState) isCustomizationLoadState()  {}
func (*CustomizationLoadedState) isCustomizationLoadState()   {}
func (*CustomizationDegradedState) isCustomizationLoadState() {}
func (*CustomizationErrorState) isCustomizationLoadState()    {}
func (*UnknownVariant) isCustomizationLoadState()             {}

// MarshalJSON writes the variant with its discriminator.
func (u CustomizationLoadState) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *CustomizationLoadState) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// CustomizationLoadingState is a part of the protocol.
type CustomizationLoadingState struct{}

// CustomizationLoadedState is a part of the protocol.
type CustomizationLoadedState struct{}

// CustomizationDegradedState is a part of the protocol.
type CustomizationDegradedState struct {
	Message string `json:"message"`
}

// CustomizationErrorState is a part of the protocol.
type CustomizationErrorState struct {
	Message string `json:"message"`
}

// CustomizationEnablement is one of the kinds of CustomizationEnablementValue.
type CustomizationEnablement struct{ Value CustomizationEnablementValue }

// CustomizationEnablementValue is implemented by *CustomizationGlobalEnablement, *CustomizationWorkspaceEnablement,
// *CustomizationSessionEnablement and *UnknownVariant.
type CustomizationEnablementValue interface{ isCustomizationEnablement() }

func (*CustomizationGlobalEnablement) isCustomizationEnablement()    {}
func (*CustomizationWorkspaceEnablement) isCustomizationEnablement() {}
func (*CustomizationSessionEnablement) isCustomizationEnablement()   {}
func (*UnknownVariant) isCustomizationEnablement()                   {}

// MarshalJSON writes the variant with its discriminator.
func (u CustomizationEnablement) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON picks the variant by its discriminator.
func (u *CustomizationEnablement) UnmarshalJSON(b []byte) error { return Unmarshal(b, u) }

// CustomizationGlobalEnablement is a part of the protocol.
type CustomizationGlobalEnablement struct {
	Enabled bool `json:"enabled"`
}

// CustomizationWorkspaceEnablement is a part of the protocol.
type CustomizationWorkspaceEnablement struct {
	URI     URI  `json:"uri"`
	Enabled bool `json:"enabled"`
}

// CustomizationSessionEnablement is a part of the protocol.
type CustomizationSessionEnablement struct {
	Enabled bool `json:"enabled"`
}
