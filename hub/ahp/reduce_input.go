package ahp

// chatInputRequested puts a question into the running turn. The same id again replaces the open one and keeps the
// answers drafted so far, unless the request brings its own.
func chatInputRequested(s *ChatState, a *ChatInputRequestedAction) *ChatState {
	if s.ActiveTurn == nil {
		return s
	}
	parts := s.ActiveTurn.ResponseParts
	request := a.Request
	if i := openRequest(parts, request.ID); i >= 0 {
		if request.Answers == nil {
			request.Answers = parts[i].Value.(*InputRequestResponsePart).Request.Answers
		}
		parts = replaced(parts, i, ResponsePart{&InputRequestResponsePart{Request: request}})
	} else {
		parts = with(parts, ResponsePart{&InputRequestResponsePart{Request: request}})
	}
	next := s.withParts(parts).refreshed()
	return set(next, chatStatus, next.Status.With(SessionStatusIsRead, false))
}

// openRequest returns the place of the unanswered request with the id, -1 without one.
func openRequest(parts []ResponsePart, id string) int {
	return indexOf(parts, func(p *ResponsePart) bool {
		v, ok := p.Value.(*InputRequestResponsePart)
		return ok && v.Request.ID == id && v.Response == ""
	})
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
	part := edit(parts[i].Value.(*InputRequestResponsePart), f)
	return s.withParts(replaced(parts, i, ResponsePart{part}))
}

// chatInputAnswerChanged drafts, submits, skips or (without an answer) takes back the answer to one question.
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

// chatInputCompleted closes a request: its final answers lie over the drafts (AHP requirement 130).
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
