package ahp

import "time"

// chatTurnStarted starts a turn. It also removes the turn's message from the queue, so that a
// client that missed the removal does not show it twice. The chat becomes unread
// (AHP requirement 116).
func chatTurnStarted(s *ChatState, a *ChatTurnStartedAction) *ChatState {
	return edit(s, func(s *ChatState) {
		s.ActiveTurn = &ActiveTurn{ID: a.TurnID, StartedAt: a.StartedAt, Message: a.Message}
		s.Status = s.Status.WithActivity(SessionStatusInProgress).With(SessionStatusIsRead, false)
		s.ModifiedAt = a.StartedAt
		if a.QueuedMessageID != "" {
			s.dropSteering(a.QueuedMessageID)
			s.dropQueued(a.QueuedMessageID)
		}
	})
}

// turn returns the running turn if it has the id.
func (s *ChatState) turn(id string) *ActiveTurn {
	if s.ActiveTurn == nil || s.ActiveTurn.ID != id {
		return nil
	}
	return s.ActiveTurn
}

// withParts returns s with the response parts of its running turn replaced.
func (s *ChatState) withParts(parts Parts) *ChatState {
	return edit(s, func(s *ChatState) {
		s.ActiveTurn = edit(s.ActiveTurn, func(t *ActiveTurn) { t.ResponseParts = parts })
	})
}

// refreshed sets the activity bits from the running turn: waiting for a person, or working.
func (s *ChatState) refreshed() *ChatState {
	activity := SessionStatusInProgress
	if s.ActiveTurn.ResponseParts.Wait() {
		activity = SessionStatusInputNeeded
	}
	return set(s, chatStatus, s.Status.WithActivity(activity))
}

// waits reports whether the turn waits for a person because of this part.
func (p *ResponsePart) waits() bool {
	switch v := p.Value.(type) {
	case *InputRequestResponsePart:
		return v.Response == ""
	case *ToolCallResponsePart:
		switch v.ToolCall.Value.(type) {
		case *ToolCallPendingConfirmationState, *ToolCallPendingResultConfirmationState, *ToolCallAuthRequiredState:
			return true
		}
	}
	return false
}

// id returns the id by which deltas address the part, or "" if it has none.
func (p *ResponsePart) id() string {
	switch v := p.Value.(type) {
	case *MarkdownResponsePart:
		return v.ID
	case *ReasoningResponsePart:
		return v.ID
	}
	return ""
}

// chatDelta appends to a Markdown part and does nothing if the part is of another kind.
func chatDelta(s *ChatState, a *ChatDeltaAction) *ChatState {
	i := s.stream(a.TurnID, a.PartID)
	if i < 0 || a.Content == "" {
		return s
	}
	part, ok := s.ActiveTurn.ResponseParts.At(i).Value.(*MarkdownResponsePart)
	if !ok {
		return s
	}
	next := &MarkdownResponsePart{ID: part.ID, Content: part.Content.Append(a.Content)}
	return s.withParts(s.ActiveTurn.ResponseParts.replaced(i, ResponsePart{next}))
}

// chatReasoning appends to a reasoning part.
func chatReasoning(s *ChatState, a *ChatReasoningAction) *ChatState {
	i := s.stream(a.TurnID, a.PartID)
	if i < 0 || a.Content == "" {
		return s
	}
	part, ok := s.ActiveTurn.ResponseParts.At(i).Value.(*ReasoningResponsePart)
	if !ok {
		return s
	}
	next := &ReasoningResponsePart{ID: part.ID, Content: part.Content.Append(a.Content)}
	return s.withParts(s.ActiveTurn.ResponseParts.replaced(i, ResponsePart{next}))
}

// stream returns the index of the running turn's part with the id, or -1.
func (s *ChatState) stream(turn, id string) int {
	t := s.turn(turn)
	if t == nil {
		return -1
	}
	return t.ResponseParts.streams.find(id)
}

// chatResponsePart appends a part. Error parts end a turn, so only chat/error adds them.
func chatResponsePart(s *ChatState, a *ChatResponsePartAction) *ChatState {
	t := s.turn(a.TurnID)
	if _, isError := a.Part.Value.(*ErrorResponsePart); t == nil || isError || a.Part.Value == nil {
		return s
	}
	return s.withParts(t.ResponseParts.with(a.Part))
}

func chatUsage(s *ChatState, a *ChatUsageAction) *ChatState {
	t := s.turn(a.TurnID)
	if t == nil {
		return s
	}
	next := setDeep(t, func(t *ActiveTurn) **UsageInfo { return &t.Usage }, &a.Usage)
	return set(s, func(s *ChatState) **ActiveTurn { return &s.ActiveTurn }, next)
}

func chatTurnComplete(s *ChatState, a *ChatTurnCompleteAction) *ChatState {
	return endTurn(s, a.TurnID, a.Duration, TurnStateComplete, SessionStatusIdle, nil)
}

func chatTurnCancelled(s *ChatState, a *ChatTurnCancelledAction) *ChatState {
	return endTurn(s, a.TurnID, a.Duration, TurnStateCancelled, SessionStatusIdle, nil)
}

func chatError(s *ChatState, a *ChatErrorAction) *ChatState {
	return endTurn(s, a.TurnID, a.Duration, TurnStateError, SessionStatusError, &a.Part)
}

// endTurn moves the running turn to the finished ones. Tool calls that had not ended are cancelled as skipped
// (AHP requirement 115); an error is the last part.
func endTurn(s *ChatState, id string, ms int64, state TurnState, activity SessionStatus,
	failure *ErrorResponsePart) *ChatState {
	t := s.turn(id)
	if t == nil {
		return s
	}
	ms = max(ms, 0)
	parts := make([]ResponsePart, 0, t.ResponseParts.Len()+1)
	for _, p := range t.ResponseParts.All() {
		parts = append(parts, p.ended())
	}
	if failure != nil {
		parts = append(parts, ResponsePart{failure})
	}
	done := &Turn{
		ID: t.ID, StartedAt: t.StartedAt, Duration: &ms, Message: t.Message,
		ResponseParts: parts, Usage: t.Usage, State: state,
	}
	return edit(s, func(s *ChatState) {
		s.Turns, s.ActiveTurn = with(s.Turns, done), nil
		s.Status = s.Status.WithActivity(activity)
		s.ModifiedAt = later(t.StartedAt, ms, s.ModifiedAt)
	})
}

// ended returns the part as it is in a finished turn: texts are clipped, unfinished tool calls are
// skipped.
func (p ResponsePart) ended() ResponsePart {
	switch v := p.Value.(type) {
	case *MarkdownResponsePart:
		return ResponsePart{&MarkdownResponsePart{ID: v.ID, Content: v.Content.Clip()}}
	case *ReasoningResponsePart:
		return ResponsePart{&ReasoningResponsePart{ID: v.ID, Content: v.Content.Clip()}}
	case *ToolCallResponsePart:
		return ResponsePart{v.skipped()}
	}
	return p
}

// timeFormat is ISO 8601 in UTC with milliseconds, as JavaScript writes it.
const timeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime writes a time the way the protocol does: ISO 8601, UTC, milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// later returns start plus ms, or otherwise if start is not a time or ms is too large.
func later(start string, ms int64, otherwise string) string {
	t, err := time.Parse(time.RFC3339Nano, start)
	if err != nil || ms > 1<<42 {
		return otherwise
	}
	return FormatTime(t.Add(time.Duration(ms%1000) * time.Millisecond).Add(time.Duration(ms/1000) * time.Second))
}

// chatTurnResume resumes the last turn, if its last part is an error marked as resumable. The error
// stays in the transcript, and the duration that ends it later is the whole turn's.
func chatTurnResume(s *ChatState, a *ChatTurnResumeAction) *ChatState {
	if s.ActiveTurn != nil || len(s.Turns) == 0 {
		return s
	}
	last := s.Turns[len(s.Turns)-1]
	if last == nil || last.ID != a.TurnID || !last.Resumable() {
		return s
	}
	started := last.StartedAt
	if started == "" {
		started = s.ModifiedAt
	}
	turn := &ActiveTurn{
		ID: last.ID, StartedAt: started, Message: last.Message, ResponseParts: NewParts(last.ResponseParts...),
		Usage: last.Usage,
	}
	n := len(s.Turns) - 1
	return edit(s, func(s *ChatState) {
		s.Turns, s.ActiveTurn = s.Turns[:n:n], turn
		s.Status = s.Status.With(SessionStatusIsRead, false)
	}).refreshed()
}

// Resumable reports whether the turn ended in an error after which chat/turnResume can resume it.
func (t *Turn) Resumable() bool {
	if t.State != TurnStateError || len(t.ResponseParts) == 0 {
		return false
	}
	e, ok := t.ResponseParts[len(t.ResponseParts)-1].Value.(*ErrorResponsePart)
	return ok && e.Resumable != nil && *e.Resumable
}
