package ahp

func chatStatus(s *ChatState) *SessionStatus { return &s.Status }

func chatActivityChanged(s *ChatState, a *ChatActivityChangedAction) *ChatState {
	return set(s, func(s *ChatState) *string { return &s.Activity }, a.Activity)
}

func chatIsReadChanged(s *ChatState, a *ChatIsReadChangedAction) *ChatState {
	return set(s, chatStatus, s.Status.With(SessionStatusIsRead, a.IsRead))
}

func chatIsArchivedChanged(s *ChatState, a *ChatIsArchivedChangedAction) *ChatState {
	return set(s, chatStatus, s.Status.With(SessionStatusIsArchived, a.IsArchived))
}

func chatMovableChanged(s *ChatState, a *ChatMovableChangedAction) *ChatState {
	return setDeep(s, func(s *ChatState) **bool { return &s.Movable }, &a.Movable)
}

func chatChangesetsChanged(s *ChatState, a *ChatChangesetsChangedAction) *ChatState {
	return setDeep(s, func(s *ChatState) *[]Changeset { return &s.Changesets }, a.Changesets)
}

func chatCanvasesChanged(s *ChatState, a *ChatCanvasesChangedAction) *ChatState {
	return setDeep(s, func(s *ChatState) *[]CanvasReference { return &s.Canvases }, a.Canvases)
}

func chatDraftChanged(s *ChatState, a *ChatDraftChangedAction) *ChatState {
	return setDeep(s, func(s *ChatState) **Message { return &s.Draft }, a.Draft)
}

func chatWorkingDirectorySet(s *ChatState, a *ChatWorkingDirectorySetAction) *ChatState {
	return withChatDirectories(s)(withDirectory(s.WorkingDirectories, a.Directory))
}

func chatWorkingDirectoryRemoved(s *ChatState, a *ChatWorkingDirectoryRemovedAction) *ChatState {
	return withChatDirectories(s)(withoutDirectory(s.WorkingDirectories, a.Directory))
}

func withChatDirectories(s *ChatState) func([]URI, bool) *ChatState {
	return func(dirs []URI, changed bool) *ChatState {
		if !changed {
			return s
		}
		return edit(s, func(s *ChatState) { s.WorkingDirectories = dirs })
	}
}

func chatBackgroundWorkSet(s *ChatState, a *ChatBackgroundWorkSetAction) *ChatState {
	id := a.Work.id()
	if id == "" {
		return s
	}
	list, changed := upserted(s.BackgroundWork, func(b *BackgroundWork) bool { return b.id() == id }, a.Work)
	if !changed {
		return s
	}
	return edit(s, func(s *ChatState) { s.BackgroundWork = list })
}

// chatBackgroundWorkRemoved keeps an empty list, which means that nothing runs; nil means unknown.
func chatBackgroundWorkRemoved(s *ChatState, a *ChatBackgroundWorkRemovedAction) *ChatState {
	i := indexOf(s.BackgroundWork, func(b *BackgroundWork) bool { return b.id() == a.ID })
	if i < 0 {
		return s
	}
	return edit(s, func(s *ChatState) { s.BackgroundWork = without(s.BackgroundWork, i) })
}

func chatPendingMessageSet(s *ChatState, a *ChatPendingMessageSetAction) *ChatState {
	pending := PendingMessage{ID: a.ID, Message: a.Message}
	switch a.Kind {
	case PendingMessageKindSteering:
		return setDeep(s, func(s *ChatState) **PendingMessage { return &s.SteeringMessage }, &pending)
	case PendingMessageKindQueued:
		queue, changed := upserted(s.QueuedMessages, func(m *PendingMessage) bool { return m.ID == a.ID }, pending)
		if changed {
			return edit(s, func(s *ChatState) { s.QueuedMessages = queue })
		}
	}
	return s
}

func chatPendingMessageRemoved(s *ChatState, a *ChatPendingMessageRemovedAction) *ChatState {
	c := *s
	changed := false
	switch a.Kind {
	case PendingMessageKindSteering:
		changed = c.dropSteering(a.ID)
	case PendingMessageKindQueued:
		changed = c.dropQueued(a.ID)
	}
	if !changed {
		return s
	}
	return &c
}

func (s *ChatState) dropSteering(id string) bool {
	if s.SteeringMessage == nil || s.SteeringMessage.ID != id {
		return false
	}
	s.SteeringMessage = nil
	return true
}

func (s *ChatState) dropQueued(id string) bool {
	i := indexOf(s.QueuedMessages, func(m *PendingMessage) bool { return m.ID == id })
	if i < 0 {
		return false
	}
	s.QueuedMessages = orNil(without(s.QueuedMessages, i))
	return true
}

// chatQueuedMessagesReordered ignores ids that are not queued and keeps the unmentioned ones, in their order, at
// the end, so that a stale view loses nothing (AHP requirement 111).
func chatQueuedMessagesReordered(s *ChatState, a *ChatQueuedMessagesReorderedAction) *ChatState {
	at := make(map[string]int, len(s.QueuedMessages))
	for i := range s.QueuedMessages {
		at[s.QueuedMessages[i].ID] = i
	}
	order := make([]int, 0, len(s.QueuedMessages))
	taken := make([]bool, len(s.QueuedMessages))
	for _, id := range a.Order {
		if i, ok := at[id]; ok && !taken[i] {
			taken[i] = true
			order = append(order, i)
		}
	}
	for i := range s.QueuedMessages {
		if !taken[i] {
			order = append(order, i)
		}
	}
	queue := make([]PendingMessage, len(order))
	moved := false
	for to, from := range order {
		queue[to] = s.QueuedMessages[from]
		moved = moved || to != from
	}
	if !moved {
		return s
	}
	return edit(s, func(s *ChatState) { s.QueuedMessages = queue })
}

// chatTurnsLoaded puts older turns before the loaded ones. It skips loaded turns, as a client may
// fetch a page again before the first answer moved its cursor (AHP requirement 88).
func chatTurnsLoaded(s *ChatState, a *ChatTurnsLoadedAction) *ChatState {
	loaded := make(map[string]bool, len(s.Turns))
	for _, t := range s.Turns {
		loaded[t.ID] = true
	}
	turns := make([]*Turn, 0, len(a.Turns)+len(s.Turns))
	for _, t := range a.Turns {
		if !loaded[t.ID] {
			turns = append(turns, t)
		}
	}
	if len(turns) == 0 && a.TurnsNextCursor == s.TurnsNextCursor {
		return s
	}
	turns = append(turns, s.Turns...)
	return edit(s, func(s *ChatState) { s.Turns, s.TurnsNextCursor = turns, a.TurnsNextCursor })
}

// chatTruncated keeps the turns up to the named one, or none if TurnID is empty, and drops a
// running turn (AHP requirement 114).
func chatTruncated(s *ChatState, a *ChatTruncatedAction) *ChatState {
	keep, cursor := 0, ""
	if a.TurnID != "" {
		i := indexOf(s.Turns, func(t **Turn) bool { return *t != nil && (*t).ID == a.TurnID })
		if i < 0 {
			return s
		}
		keep, cursor = i+1, s.TurnsNextCursor
	}
	status := s.Status.WithActivity(SessionStatusIdle)
	if keep == len(s.Turns) && s.ActiveTurn == nil && cursor == s.TurnsNextCursor && status == s.Status {
		return s
	}
	return edit(s, func(s *ChatState) {
		s.Turns, s.TurnsNextCursor = s.Turns[:keep:keep], cursor
		s.ActiveTurn, s.Status = nil, status
	})
}
