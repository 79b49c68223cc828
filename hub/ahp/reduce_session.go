package ahp

func sessionReady(s *SessionState, _ *SessionReadyAction) *SessionState {
	return set(s, func(s *SessionState) *SessionLifecycle { return &s.Lifecycle }, SessionLifecycleReady)
}

func sessionCreationFailed(s *SessionState, a *SessionCreationFailedAction) *SessionState {
	next := set(s, func(s *SessionState) *SessionLifecycle { return &s.Lifecycle }, SessionLifecycleFailed)
	return setDeep(next, func(s *SessionState) **ErrorInfo { return &s.CreationError }, &a.Error)
}

func sessionChatAdded(s *SessionState, a *SessionChatAddedAction) *SessionState {
	chats, changed := upserted(s.Chats, func(c *ChatSummary) bool { return c.Resource == a.Summary.Resource },
		a.Summary)
	return withChats(s, chats, changed)
}

func withChats(s *SessionState, chats []ChatSummary, changed bool) *SessionState {
	if !changed {
		return s
	}
	return edit(s, func(s *SessionState) { s.Chats = chats })
}

func sessionChatRemoved(s *SessionState, a *SessionChatRemovedAction) *SessionState {
	i := indexOf(s.Chats, func(c *ChatSummary) bool { return c.Resource == a.Chat })
	if i < 0 {
		return s
	}
	return edit(s, func(s *SessionState) {
		s.Chats = without(s.Chats, i)
		if s.DefaultChat == a.Chat {
			s.DefaultChat = ""
		}
	})
}

func sessionChatUpdated(s *SessionState, a *SessionChatUpdatedAction) *SessionState {
	i := indexOf(s.Chats, func(c *ChatSummary) bool { return c.Resource == a.Chat })
	if i < 0 {
		return s
	}
	chat := s.Chats[i]
	chat.patch(&a.Changes)
	chats, changed := upserted(s.Chats, func(c *ChatSummary) bool { return c.Resource == a.Chat }, chat)
	return withChats(s, chats, changed)
}

// patch overwrites the fields present in p, except the identity (AHP requirement 71).
func (c *ChatSummary) patch(p *PartialChatSummary) {
	assign(&c.Title, p.Title)
	assign(&c.Status, p.Status)
	assign(&c.Activity, p.Activity)
	assign(&c.ModifiedAt, p.ModifiedAt)
	assign(&c.Interactivity, p.Interactivity)
	if p.Origin != nil {
		c.Origin = p.Origin
	}
	if p.WorkingDirectories != nil {
		c.WorkingDirectories = p.WorkingDirectories
	}
	if p.Changes != nil {
		c.Changes = p.Changes
	}
	if p.Movable != nil {
		c.Movable = p.Movable
	}
}

func assign[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// sessionChatsReordered ignores an order that does not name every chat exactly once.
func sessionChatsReordered(s *SessionState, a *SessionChatsReorderedAction) *SessionState {
	if len(a.Chats) != len(s.Chats) {
		return s
	}
	at := make(map[URI]int, len(s.Chats))
	for i := range s.Chats {
		at[s.Chats[i].Resource] = i
	}
	ordered := make([]ChatSummary, 0, len(s.Chats))
	moved := false
	for i, uri := range a.Chats {
		from, ok := at[uri]
		if !ok {
			return s
		}
		delete(at, uri)
		moved = moved || from != i
		ordered = append(ordered, s.Chats[from])
	}
	return withChats(s, ordered, moved)
}

func sessionDefaultChatChanged(s *SessionState, a *SessionDefaultChatChangedAction) *SessionState {
	return set(s, func(s *SessionState) *URI { return &s.DefaultChat }, a.DefaultChat)
}

func sessionTitleChanged(s *SessionState, a *SessionTitleChangedAction) *SessionState {
	return set(s, func(s *SessionState) *string { return &s.Title }, a.Title)
}

func sessionStatus(s *SessionState) *SessionStatus { return &s.Status }

func sessionIsReadChanged(s *SessionState, a *SessionIsReadChangedAction) *SessionState {
	return set(s, sessionStatus, s.Status.With(SessionStatusIsRead, a.IsRead))
}

func sessionIsArchivedChanged(s *SessionState, a *SessionIsArchivedChangedAction) *SessionState {
	return set(s, sessionStatus, s.Status.With(SessionStatusIsArchived, a.IsArchived))
}

func sessionActivityChanged(s *SessionState, a *SessionActivityChangedAction) *SessionState {
	return set(s, func(s *SessionState) *string { return &s.Activity }, a.Activity)
}

func sessionChangesetsChanged(s *SessionState, a *SessionChangesetsChangedAction) *SessionState {
	return setDeep(s, func(s *SessionState) *[]Changeset { return &s.Changesets }, a.Changesets)
}

func sessionServerToolsChanged(s *SessionState, a *SessionServerToolsChangedAction) *SessionState {
	return setDeep(s, func(s *SessionState) *[]ToolDefinition { return &s.ServerTools }, a.Tools)
}

func sessionActiveClientSet(s *SessionState, a *SessionActiveClientSetAction) *SessionState {
	same := func(c *SessionActiveClient) bool { return c.ClientID == a.ActiveClient.ClientID }
	clients, changed := upserted(s.ActiveClients, same, a.ActiveClient)
	if !changed {
		return s
	}
	return edit(s, func(s *SessionState) { s.ActiveClients = clients })
}

func sessionActiveClientRemoved(s *SessionState, a *SessionActiveClientRemovedAction) *SessionState {
	i := indexOf(s.ActiveClients, func(c *SessionActiveClient) bool { return c.ClientID == a.ClientID })
	if i < 0 {
		return s
	}
	return edit(s, func(s *SessionState) { s.ActiveClients = without(s.ActiveClients, i) })
}

func sessionWorkingDirectorySet(s *SessionState, a *SessionWorkingDirectorySetAction) *SessionState {
	return withSessionDirectories(s)(withDirectory(s.WorkingDirectories, a.Directory))
}

func sessionWorkingDirectoryRemoved(s *SessionState, a *SessionWorkingDirectoryRemovedAction) *SessionState {
	return withSessionDirectories(s)(withoutDirectory(s.WorkingDirectories, a.Directory))
}

func withSessionDirectories(s *SessionState) func([]URI, bool) *SessionState {
	return func(dirs []URI, changed bool) *SessionState {
		if !changed {
			return s
		}
		return edit(s, func(s *SessionState) { s.WorkingDirectories = dirs })
	}
}

// sessionWorkingDirectoryReplaced replaces a directory and keeps the set free of duplicates: the
// replacement takes the earlier of both positions.
func sessionWorkingDirectoryReplaced(s *SessionState, a *SessionWorkingDirectoryReplacedAction) *SessionState {
	target := indexOf(s.WorkingDirectories, func(d *URI) bool { return *d == a.Directory })
	if target < 0 || a.Directory == a.Replacement {
		return s
	}
	dirs := make([]URI, 0, len(s.WorkingDirectories))
	placed := false
	for i, dir := range s.WorkingDirectories {
		if i == target {
			dir = a.Replacement
		}
		if dir == a.Replacement {
			if placed {
				continue
			}
			placed = true
		}
		dirs = append(dirs, dir)
	}
	return withSessionDirectories(s)(dirs, true)
}

func sessionConfigChanged(s *SessionState, a *SessionConfigChangedAction) *SessionState {
	if s.Config == nil {
		return s
	}
	config := *s.Config
	config.Values = mergedValues(config.Values, a.Config, a.Replace)
	return setDeep(s, func(s *SessionState) **SessionConfigState { return &s.Config }, &config)
}

func sessionMetaChanged(s *SessionState, a *SessionMetaChangedAction) *SessionState {
	return setDeep(s, func(s *SessionState) *Meta { return &s.Meta }, a.Meta)
}

func sessionInputNeededSet(s *SessionState, a *SessionInputNeededSetAction) *SessionState {
	id := a.Request.id()
	if id == "" {
		return s
	}
	list, changed := upserted(s.InputNeeded, func(r *SessionInputRequest) bool { return r.id() == id }, a.Request)
	return withInputNeeded(s, list, changed)
}

func sessionInputNeededRemoved(s *SessionState, a *SessionInputNeededRemovedAction) *SessionState {
	i := indexOf(s.InputNeeded, func(r *SessionInputRequest) bool { return r.id() == a.ID })
	if i < 0 {
		return s
	}
	list := without(s.InputNeeded, i)
	if len(list) == 0 {
		list = nil
	}
	return withInputNeeded(s, list, true)
}

// withInputNeeded sets the list and the matching InputNeeded bit. A tool that a client runs does
// not need a person, so it does not count.
func withInputNeeded(s *SessionState, list []SessionInputRequest, changed bool) *SessionState {
	status := s.Status
	if indexOf(list, (*SessionInputRequest).needsPerson) >= 0 {
		status = status.WithActivity(SessionStatusInputNeeded)
	} else if status.Activity() == SessionStatusInputNeeded {
		status = status.WithActivity(SessionStatusInProgress)
	}
	if !changed && status == s.Status {
		return s
	}
	return edit(s, func(s *SessionState) { s.InputNeeded, s.Status = list, status })
}

func (r *SessionInputRequest) needsPerson() bool {
	_, client := r.Value.(*SessionToolClientExecutionRequest)
	return !client
}
