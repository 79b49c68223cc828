package ahp

func sessionCustomizationsChanged(s *SessionState, a *SessionCustomizationsChangedAction) *SessionState {
	return setDeep(s, func(s *SessionState) *[]Customization { return &s.Customizations }, a.Customizations)
}

func sessionCustomizationUpdated(s *SessionState, a *SessionCustomizationUpdatedAction) *SessionState {
	id := a.Customization.ID()
	if id == "" {
		return s
	}
	list, changed := upserted(s.Customizations, func(c *Customization) bool { return c.ID() == id }, a.Customization)
	if !changed {
		return s
	}
	return edit(s, func(s *SessionState) { s.Customizations = list })
}

// sessionCustomizationRemoved drops a top-level entry, or a child wherever it is.
func sessionCustomizationRemoved(s *SessionState, a *SessionCustomizationRemovedAction) *SessionState {
	if a.ID == "" {
		return s
	}
	if i := indexOf(s.Customizations, func(c *Customization) bool { return c.ID() == a.ID }); i >= 0 {
		return edit(s, func(s *SessionState) { s.Customizations = without(s.Customizations, i) })
	}
	for i := range s.Customizations {
		children := s.Customizations[i].Children()
		j := indexOf(children, func(c *ChildCustomization) bool { return c.ID() == a.ID })
		if j >= 0 {
			return withCustomization(s, i, s.Customizations[i].withChildren(without(children, j)))
		}
	}
	return s
}

func withCustomization(s *SessionState, i int, c Customization) *SessionState {
	return edit(s, func(s *SessionState) { s.Customizations = replaced(s.Customizations, i, c) })
}

// sessionCustomizationToggled stores the decisions: plugins and MCP servers keep the list,
// directories and other children only its result.
func sessionCustomizationToggled(s *SessionState, a *SessionCustomizationToggledAction) *SessionState {
	if i := indexOf(s.Customizations, func(c *Customization) bool { return c.ID() == a.ID }); i >= 0 && a.ID != "" {
		return replaceCustomization(s, i, s.Customizations[i].toggled(a.Enablement))
	}
	return editChild(s, a.ID, func(c ChildCustomization) ChildCustomization { return c.toggled(a.Enablement) })
}

func replaceCustomization(s *SessionState, i int, c Customization) *SessionState {
	field := func(s *SessionState) *[]Customization { return &s.Customizations }
	return setDeep(s, field, replaced(s.Customizations, i, c))
}

// editChild changes the child with the id, in whichever container it is.
func editChild(s *SessionState, id string, f func(ChildCustomization) ChildCustomization) *SessionState {
	if id == "" {
		return s
	}
	for i := range s.Customizations {
		children := s.Customizations[i].Children()
		if j := indexOf(children, func(c *ChildCustomization) bool { return c.ID() == id }); j >= 0 {
			return replaceCustomization(s, i, s.Customizations[i].withChildren(replaced(children, j, f(children[j]))))
		}
	}
	return s
}

// editMcpServer changes the MCP server with the id, top level or child; other entries of that id are left alone.
func editMcpServer(s *SessionState, id string, f func(*McpServerCustomization)) *SessionState {
	for i := range s.Customizations {
		if m, ok := s.Customizations[i].Value.(*McpServerCustomization); ok && m.ID == id {
			return replaceCustomization(s, i, Customization{edit(m, f)})
		}
	}
	return editChild(s, id, func(c ChildCustomization) ChildCustomization {
		if m, ok := c.Value.(*McpServerCustomization); ok {
			return ChildCustomization{edit(m, f)}
		}
		return c
	})
}

func sessionMcpServerStateChanged(s *SessionState, a *SessionMcpServerStateChangedAction) *SessionState {
	return editMcpServer(s, a.ID, func(m *McpServerCustomization) { m.State, m.Channel = a.State, a.Channel })
}

func sessionMcpServerStartRequested(s *SessionState, a *SessionMcpServerStartRequestedAction) *SessionState {
	return editMcpServer(s, a.ID, func(m *McpServerCustomization) {
		m.State, m.Channel = McpServerState{&McpServerStartingState{}}, ""
	})
}

func sessionMcpServerStopRequested(s *SessionState, a *SessionMcpServerStopRequestedAction) *SessionState {
	return editMcpServer(s, a.ID, func(m *McpServerCustomization) {
		m.State, m.Channel = McpServerState{&McpServerStoppedState{}}, ""
	})
}

// sessionMcpServerBackgroundRequested stops a starting server from holding back new messages.
func sessionMcpServerBackgroundRequested(s *SessionState, a *SessionMcpServerBackgroundRequestedAction) *SessionState {
	return editMcpServer(s, a.ID, func(m *McpServerCustomization) {
		if st, ok := m.State.Value.(*McpServerStartingState); ok && st.Blocking != nil && *st.Blocking {
			m.State = McpServerState{&McpServerStartingState{Blocking: Ptr(false)}}
		}
	})
}
