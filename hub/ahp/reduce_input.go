package ahp

import "reflect"

// chatInputRequested adds a request to the running turn. It replaces an open request with the same
// id, and keeps its draft answers unless the new one has answers.
func chatInputRequested(s *ChatState, a *ChatInputRequestedAction) *ChatState {
	if s.ActiveTurn == nil {
		return s
	}
	next := s
	if openRequest(s.ActiveTurn.ResponseParts, a.Request.ID) >= 0 {
		next = editRequest(s, a.Request.ID, func(p *InputRequestResponsePart) {
			drafts := p.Request.Answers
			p.Request = a.Request
			if p.Request.Answers == nil {
				p.Request.Answers = drafts
			}
		})
	} else {
		next = s.withParts(s.ActiveTurn.ResponseParts.with(ResponsePart{&InputRequestResponsePart{Request: a.Request}}))
	}
	next = next.refreshed()
	return set(next, chatStatus, next.Status.With(SessionStatusIsRead, false))
}

// openRequest returns the index of the unanswered request with the id, or -1.
func openRequest(parts Parts, id string) int {
	if !parts.Wait() {
		return -1
	}
	for i, p := range parts.All() {
		if v, ok := p.Value.(*InputRequestResponsePart); ok && v.Request.ID == id && v.Response == "" {
			return i
		}
	}
	return -1
}

// editRequest changes the open request with the id.
func editRequest(s *ChatState, id string, f func(*InputRequestResponsePart)) *ChatState {
	if s.ActiveTurn == nil {
		return s
	}
	parts := s.ActiveTurn.ResponseParts
	i := openRequest(parts, id)
	if i < 0 {
		return s
	}
	was := parts.At(i).Value.(*InputRequestResponsePart)
	part := edit(was, f)
	if reflect.DeepEqual(part, was) {
		return s
	}
	return s.withParts(parts.replaced(i, ResponsePart{part}))
}

// chatInputAnswerChanged drafts, submits, skips or (without an answer) removes the answer to one
// question.
func chatInputAnswerChanged(s *ChatState, a *ChatInputAnswerChangedAction) *ChatState {
	return editRequest(s, a.RequestID, func(p *InputRequestResponsePart) {
		answers := make(map[string]ChatInputAnswer, len(p.Request.Answers)+1)
		for k, v := range p.Request.Answers {
			answers[k] = v
		}
		if a.Answer != nil {
			answers[a.QuestionID] = *a.Answer
		} else {
			delete(answers, a.QuestionID)
		}
		if len(answers) == 0 {
			answers = nil
		}
		p.Request.Answers = answers
	})
}

// chatInputCompleted closes a request: its final answers overwrite the drafts
// (AHP requirement 130).
func chatInputCompleted(s *ChatState, a *ChatInputCompletedAction) *ChatState {
	next := editRequest(s, a.RequestID, func(p *InputRequestResponsePart) {
		p.Response = a.Response
		if len(a.Answers) == 0 {
			return
		}
		answers := make(map[string]ChatInputAnswer, len(p.Request.Answers)+len(a.Answers))
		for k, v := range p.Request.Answers {
			answers[k] = v
		}
		for k, v := range a.Answers {
			answers[k] = v
		}
		p.Request.Answers = answers
	})
	if next == s {
		return s
	}
	return next.refreshed()
}
