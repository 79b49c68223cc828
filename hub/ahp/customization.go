package ahp

// Customization is a top-level entry: a plugin, a directory or an MCP server.
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

// ChildCustomization is an entry inside a plugin or directory.
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

// PluginCustomization is a bundle of customizations. Nil Children means that it was not read; an
// empty list means that it has none.
type PluginCustomization struct {
	ID         string                    `json:"id"`
	URI        URI                       `json:"uri"`
	Name       string                    `json:"name"`
	Icons      []Icon                    `json:"icons,omitzero"`
	Range      *TextRange                `json:"range,omitempty"`
	Enablement []CustomizationEnablement `json:"enablement,omitzero"` // nearest scope first; see Enabled
	ClientID   string                    `json:"clientId,omitempty"`
	Load       *CustomizationLoadState   `json:"load,omitempty"`
	Children   []ChildCustomization      `json:"children,omitzero"`
	Version    string                    `json:"version,omitempty"`
	Meta       Meta                      `json:"_meta,omitzero"`
}

// ClientPluginCustomization is a plugin as a client publishes it.
type ClientPluginCustomization struct {
	ID         string                    `json:"id"`
	URI        URI                       `json:"uri"`
	Name       string                    `json:"name"`
	Icons      []Icon                    `json:"icons,omitzero"`
	Range      *TextRange                `json:"range,omitempty"`
	Enablement []CustomizationEnablement `json:"enablement,omitzero"`
	// by child name, for MCP servers by server name
	ChildEnablement map[string][]CustomizationEnablement `json:"childEnablement,omitzero"`
	ClientID        string                               `json:"clientId,omitempty"`
	Load            *CustomizationLoadState              `json:"load,omitempty"`
	Children        []ChildCustomization                 `json:"children,omitzero"`
	Version         string                               `json:"version,omitempty"`
	Nonce           string                               `json:"nonce,omitempty"`
	Meta            Meta                                 `json:"_meta,omitzero"`
}

// DirectoryCustomization is a directory that customizations are read from.
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

// ChildCustomizationType names a kind of child.
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

// AgentCustomization is an agent.
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

// SkillCustomization is a skill.
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

// PromptCustomization is a prompt.
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

// RuleCustomization is a rule.
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

// HookCustomization is a hook.
type HookCustomization struct {
	ID      string     `json:"id"`
	URI     URI        `json:"uri"`
	Name    string     `json:"name"`
	Icons   []Icon     `json:"icons,omitzero"`
	Range   *TextRange `json:"range,omitempty"`
	Enabled *bool      `json:"enabled,omitempty"`
	Meta    Meta       `json:"_meta,omitzero"`
}

// CustomizationLoadState is the progress of reading a container.
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

// CustomizationLoadingState: the container is being read.
type CustomizationLoadingState struct{}

// CustomizationLoadedState: the container was read.
type CustomizationLoadedState struct{}

// CustomizationDegradedState: the container was read in part.
type CustomizationDegradedState struct {
	Message string `json:"message"`
}

// CustomizationErrorState: the container could not be read.
type CustomizationErrorState struct {
	Message string `json:"message"`
}

// CustomizationEnablement enables or disables an entry in one scope.
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

// CustomizationGlobalEnablement is a decision for every session.
type CustomizationGlobalEnablement struct {
	Enabled bool `json:"enabled"`
}

// CustomizationWorkspaceEnablement is a decision for the sessions of one directory.
type CustomizationWorkspaceEnablement struct {
	URI     URI  `json:"uri"`
	Enabled bool `json:"enabled"`
}

// CustomizationSessionEnablement is a decision for this session.
type CustomizationSessionEnablement struct {
	Enabled bool `json:"enabled"`
}
