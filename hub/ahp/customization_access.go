package ahp

// ID returns the entry's id, "" when it has none.
func (c *Customization) ID() string {
	switch v := c.Value.(type) {
	case *PluginCustomization:
		return v.ID
	case *DirectoryCustomization:
		return v.ID
	case *McpServerCustomization:
		return v.ID
	case *UnknownVariant:
		return rawID(v)
	}
	return ""
}

// Children returns the entries of a plugin or directory, or nil if it was not read.
func (c *Customization) Children() []ChildCustomization {
	switch v := c.Value.(type) {
	case *PluginCustomization:
		return v.Children
	case *DirectoryCustomization:
		return v.Children
	}
	return nil
}

func (c *Customization) withChildren(children []ChildCustomization) Customization {
	switch v := c.Value.(type) {
	case *PluginCustomization:
		return Customization{edit(v, func(p *PluginCustomization) { p.Children = children })}
	case *DirectoryCustomization:
		return Customization{edit(v, func(d *DirectoryCustomization) { d.Children = children })}
	}
	return *c
}

func (c *Customization) toggled(e []CustomizationEnablement) Customization {
	switch v := c.Value.(type) {
	case *PluginCustomization:
		return Customization{edit(v, func(p *PluginCustomization) { p.Enablement = orNil(e) })}
	case *DirectoryCustomization:
		return Customization{edit(v, func(d *DirectoryCustomization) { d.Enabled = Enabled(e) })}
	case *McpServerCustomization:
		return Customization{edit(v, func(m *McpServerCustomization) { m.Enablement = orNil(e) })}
	}
	return *c
}

// ID returns the entry's id, "" when it has none.
func (c *ChildCustomization) ID() string {
	switch v := c.Value.(type) {
	case *AgentCustomization:
		return v.ID
	case *SkillCustomization:
		return v.ID
	case *PromptCustomization:
		return v.ID
	case *RuleCustomization:
		return v.ID
	case *HookCustomization:
		return v.ID
	case *McpServerCustomization:
		return v.ID
	case *UnknownVariant:
		return rawID(v)
	}
	return ""
}

// Name returns the entry's name, "" for an unknown kind.
func (c *ChildCustomization) Name() string {
	switch v := c.Value.(type) {
	case *AgentCustomization:
		return v.Name
	case *SkillCustomization:
		return v.Name
	case *PromptCustomization:
		return v.Name
	case *RuleCustomization:
		return v.Name
	case *HookCustomization:
		return v.Name
	case *McpServerCustomization:
		return v.Name
	}
	return ""
}

func (c *ChildCustomization) toggled(e []CustomizationEnablement) ChildCustomization {
	if v, ok := c.Value.(*McpServerCustomization); ok {
		return ChildCustomization{edit(v, func(m *McpServerCustomization) { m.Enablement = orNil(e) })}
	}
	return c.WithEnabled(Enabled(e))
}

// WithEnabled returns a copy of the entry with Enabled set. MCP servers and unknown kinds lack the
// field and are returned unchanged.
func (c *ChildCustomization) WithEnabled(on bool) ChildCustomization {
	switch v := c.Value.(type) {
	case *AgentCustomization:
		return ChildCustomization{edit(v, func(a *AgentCustomization) { a.Enabled = &on })}
	case *SkillCustomization:
		return ChildCustomization{edit(v, func(a *SkillCustomization) { a.Enabled = &on })}
	case *PromptCustomization:
		return ChildCustomization{edit(v, func(a *PromptCustomization) { a.Enabled = &on })}
	case *RuleCustomization:
		return ChildCustomization{edit(v, func(a *RuleCustomization) { a.Enabled = &on })}
	case *HookCustomization:
		return ChildCustomization{edit(v, func(a *HookCustomization) { a.Enabled = &on })}
	}
	return *c
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// Enabled reports whether an entry with these decisions is enabled. The first decision counts, as
// producers sort the nearest scope first; without any, the entry is enabled.
func Enabled(e []CustomizationEnablement) bool {
	if len(e) == 0 {
		return true
	}
	switch v := e[0].Value.(type) {
	case *CustomizationGlobalEnablement:
		return v.Enabled
	case *CustomizationWorkspaceEnablement:
		return v.Enabled
	case *CustomizationSessionEnablement:
		return v.Enabled
	case *UnknownVariant:
		var form struct {
			Enabled *bool `json:"enabled"`
		}
		if Unmarshal(v.Raw, &form) == nil && form.Enabled != nil {
			return *form.Enabled
		}
	}
	return true
}

// rawID reads the id of a variant this version does not know; such entries are still replaced and removed by id.
func rawID(v *UnknownVariant) string {
	var form struct {
		ID string `json:"id"`
	}
	if Unmarshal(v.Raw, &form) != nil {
		return ""
	}
	return form.ID
}

// id returns the request's id, empty when it has none.
func (r *SessionInputRequest) id() string {
	switch v := r.Value.(type) {
	case *SessionChatInputRequest:
		return v.ID
	case *SessionToolConfirmationRequest:
		return v.ID
	case *SessionToolClientExecutionRequest:
		return v.ID
	case *SessionToolAuthenticationRequest:
		return v.ID
	case *UnknownVariant:
		return rawID(v)
	}
	return ""
}

// id returns the work's id, empty when it has none.
func (b *BackgroundWork) id() string {
	switch v := b.Value.(type) {
	case *ShellBackgroundWork:
		return v.ID
	case *SubagentBackgroundWork:
		return v.ID
	case *UnknownVariant:
		return rawID(v)
	}
	return ""
}
