package oracle

func (r *reduction) input(action string) {
	if r.version < v060 {
		r.oldInput(action)
		return
	}
	switch action {
	case "chat/inputRequested":
		r.requestInput()
	case "chat/inputAnswerChanged":
		if part := r.openRequest(text(r.a, "requestId")); part != nil {
			r.changeAnswer(member(part, "request"))
		}
	case "chat/inputCompleted":
		if part := r.openRequest(text(r.a, "requestId")); part != nil {
			part["response"] = r.a["response"]
			overlayAnswers(member(part, "request"), member(r.a, "answers"))
			r.refreshStatus()
		}
	}
}

// openRequest returns the unresolved part of a request of the active turn.
func (r *reduction) openRequest(id string) object {
	for _, part := range items(member(r.s, "activeTurn"), "responseParts") {
		p, _ := part.(object)
		if text(p, "kind") == "inputRequest" && p["response"] == nil && text(member(p, "request"), "id") == id {
			return p
		}
	}
	return nil
}

func (r *reduction) requestInput() {
	active, request := member(r.s, "activeTurn"), member(r.a, "request")
	if active == nil || request == nil {
		return
	}
	if part := r.openRequest(text(request, "id")); part != nil {
		if request["answers"] == nil {
			take(request, member(part, "request"), "answers")
		}
		part["request"] = request
	} else {
		part := object{"kind": "inputRequest", "request": request}
		active["responseParts"] = append(items(active, "responseParts"), part)
	}
	r.refreshStatus()
	setBit(r.s, statusIsRead, false)
}

// changeAnswer sets or removes one answer. The last removal also removes the key.
func (r *reduction) changeAnswer(request object) {
	answers := member(request, "answers")
	if answers == nil {
		answers = object{}
	}
	put(answers, text(r.a, "questionId"), r.a["answer"])
	put(request, "answers", answers)
	dropEmptyObject(request, "answers")
}

func overlayAnswers(request, final object) {
	if len(final) == 0 {
		return
	}
	answers := member(request, "answers")
	if answers == nil {
		answers = object{}
	}
	for question, answer := range final {
		answers[question] = answer
	}
	request["answers"] = answers
}

// openRequests reports whether any request is open.
func (r *reduction) openRequests() bool {
	if r.version < v060 {
		return len(items(r.s, "inputRequests")) > 0
	}
	for _, part := range items(member(r.s, "activeTurn"), "responseParts") {
		if p, _ := part.(object); text(p, "kind") == "inputRequest" && p["response"] == nil {
			return true
		}
	}
	return false
}

// oldInput implements the rules before 0.6.0, when open requests were a list of the chat.
func (r *reduction) oldInput(action string) {
	requests := items(r.s, "inputRequests")
	i := find(requests, "id", text(r.a, "requestId"))
	switch action {
	case "chat/inputRequested":
		request := member(r.a, "request")
		if j := find(requests, "id", text(request, "id")); j >= 0 && request["answers"] == nil {
			take(request, requests[j].(object), "answers")
		}
		upsert(r.s, "inputRequests", "id", request)
		r.refreshStatus()
		setBit(r.s, statusIsRead, false)
	case "chat/inputAnswerChanged":
		if i >= 0 {
			r.changeAnswer(requests[i].(object))
		}
	case "chat/inputCompleted":
		if i >= 0 {
			r.completeOldInput(requests[i].(object))
		}
	}
}

// completeOldInput removes a request from the list. Since 0.5.2, the active turn's transcript keeps
// it with its response.
func (r *reduction) completeOldInput(request object) {
	remove(r.s, "inputRequests", "id", text(r.a, "requestId"))
	dropEmpty(r.s, "inputRequests")
	if active := member(r.s, "activeTurn"); active != nil && r.version >= v052 {
		overlayAnswers(request, member(r.a, "answers"))
		part := object{"kind": "inputRequest", "request": request, "response": r.a["response"]}
		active["responseParts"] = append(items(active, "responseParts"), part)
	}
	r.refreshStatus()
}
