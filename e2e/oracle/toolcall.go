package oracle

// The properties of a call: in every state, with its parameters, and once confirmed.
var (
	callBase      = []string{"toolCallId", "toolName", "displayName", "intention", "contributor", "_meta"}
	callInput     = append(callBase[:len(callBase):len(callBase)], "invocationMessage", "toolInput")
	callConfirmed = append(callInput[:len(callInput):len(callInput)], "confirmed", "selectedOption")
	callResult    = []string{"success", "pastTenseMessage", "content", "structuredContent", "error"}
)

func (r *reduction) toolCall(action string) {
	if action == "chat/toolCallStart" {
		r.startCall()
		return
	}
	step := map[string]func(object) object{
		"chat/toolCallDelta":           r.callDelta,
		"chat/toolCallReady":           r.callReady,
		"chat/toolCallConfirmed":       r.callConfirmed,
		"chat/toolCallComplete":        r.callComplete,
		"chat/toolCallResultConfirmed": r.callResultConfirmed,
		"chat/toolCallContentChanged":  r.callContentChanged,
		"chat/toolCallAuthRequired":    r.callAuthRequired,
		"chat/toolCallAuthResolved":    r.callAuthResolved,
	}[action]
	if step == nil {
		return
	}
	for _, part := range items(r.activeTurn(), "responseParts") {
		p, _ := part.(object)
		call := member(p, "toolCall")
		if text(p, "kind") != "toolCall" || call["toolCallId"] != r.a["toolCallId"] {
			continue
		}
		if next := step(call); next != nil {
			take(next, r.a, "_meta")
			p["toolCall"] = next
			r.refreshStatus()
		}
		return
	}
}

func (r *reduction) startCall() {
	active := r.activeTurn()
	if active == nil {
		return
	}
	call := object{"status": "streaming"}
	take(call, r.a, callBase...)
	active["responseParts"] = append(items(active, "responseParts"), object{"kind": "toolCall", "toolCall": call})
}

// become returns a call with a new status and some of its properties.
func become(call object, status string, keep []string) object {
	next := object{"status": status}
	take(next, call, keep...)
	return next
}

func (r *reduction) callDelta(call object) object {
	if text(call, "status") != "streaming" {
		return nil
	}
	if content, ok := r.a["content"].(string); ok {
		call["partialInput"] = text(call, "partialInput") + content
	}
	take(call, r.a, "invocationMessage")
	return call
}

// callReady completes the parameters of a call, or asks for confirmation again. The executor stays
// the one set by toolCallStart.
func (r *reduction) callReady(call object) object {
	keep := callInput
	switch text(call, "status") {
	case "streaming":
		keep = callBase
	case "running":
	case "pending-confirmation":
		if r.version < v060 {
			return nil
		}
		keep = append(keep[:len(keep):len(keep)], "confirmationTitle", "riskAssessment", "edits", "editable", "options")
	default:
		return nil
	}
	next := become(call, "pending-confirmation", keep)
	take(next, r.a, "invocationMessage", "toolInput")
	if r.version >= v070 { // since then, final details of a call may be included
		take(next, r.a, "intention")
		if c := member(r.a, "contributor"); c != nil && sameOwner(member(call, "contributor"), c) {
			next["contributor"] = c
		}
	}
	if r.a["confirmed"] != nil {
		next = become(next, "running", callInput)
		next["confirmed"] = r.a["confirmed"]
		return next
	}
	take(next, r.a, "confirmationTitle", "riskAssessment", "edits", "editable", "options")
	return next
}

// sameOwner reports whether the final contributor has the same executor: the host, which also calls
// MCP servers, or the client. The executor of unknown kinds is unknown, so they cannot change.
func sameOwner(was, is object) bool {
	byHost := func(c object) bool { return c == nil || text(c, "kind") == "mcp" }
	byClient := func(c object) bool { return text(c, "kind") == "client" }
	return byHost(was) && byHost(is) || byClient(was) && byClient(is) && was["clientId"] == is["clientId"]
}

func (r *reduction) callConfirmed(call object) object {
	if text(call, "status") != "pending-confirmation" {
		return nil
	}
	option := find(items(call, "options"), "id", text(r.a, "selectedOptionId"))
	var next object
	if flag(r.a, "approved") {
		next = become(call, "running", callInput)
		next["confirmed"] = r.a["confirmed"]
		if _, referenced := call["toolInput"].(object); !referenced {
			if edited, ok := r.a["editedToolInput"].(string); ok {
				next["toolInput"] = edited
			}
		}
	} else {
		next = become(call, "cancelled", callInput)
		take(next, r.a, "reason", "reasonMessage", "userSuggestion")
	}
	if option >= 0 {
		next["selectedOption"] = items(call, "options")[option]
	}
	return next
}

func (r *reduction) callComplete(call object) object {
	result := member(r.a, "result")
	status := "completed"
	if flag(r.a, "requiresResultConfirmation") {
		status = "pending-result-confirmation"
	}
	keep := callConfirmed
	switch text(call, "status") {
	case "running":
	case "pending-confirmation":
		call["confirmed"] = "not-needed"
	case "auth-required": // only a failure ends it, permanently
		if flag(result, "success") {
			return nil
		}
		status = "completed"
		keep = append(keep[:len(keep):len(keep)], "content")
	default:
		return nil
	}
	next := become(call, status, keep)
	take(next, result, callResult...)
	return next
}

func (r *reduction) callResultConfirmed(call object) object {
	if text(call, "status") != "pending-result-confirmation" {
		return nil
	}
	if flag(r.a, "approved") {
		next := become(call, "completed", callConfirmed)
		take(next, call, callResult...)
		return next
	}
	next := become(call, "cancelled", callInput)
	take(next, call, "selectedOption")
	next["reason"] = "result-denied"
	return next
}

func (r *reduction) callContentChanged(call object) object {
	if text(call, "status") != "running" {
		return nil
	}
	replace(call, r.a, "content")
	return call
}

func (r *reduction) callAuthRequired(call object) object {
	if text(call, "status") != "running" || text(member(call, "contributor"), "kind") != "mcp" {
		return nil
	}
	call["status"] = "auth-required"
	replace(call, r.a, "auth")
	return call
}

func (r *reduction) callAuthResolved(call object) object {
	if text(call, "status") != "auth-required" {
		return nil
	}
	call["status"] = "running"
	delete(call, "auth")
	return call
}

// skipped returns a call after the end of its turn. An unknown status may be a final one.
func (r *reduction) skipped(call object) object {
	switch text(call, "status") {
	case "streaming", "pending-confirmation", "running", "auth-required", "pending-result-confirmation":
	default:
		return call
	}
	next := become(call, "cancelled", callInput)
	if next["invocationMessage"] == nil {
		next["invocationMessage"] = ""
	}
	next["reason"] = "skipped"
	return next
}

// waitingCalls reports whether any call waits for a person.
func (r *reduction) waitingCalls() bool {
	for _, part := range items(member(r.s, "activeTurn"), "responseParts") {
		p, _ := part.(object)
		switch text(member(p, "toolCall"), "status") {
		case "pending-confirmation", "pending-result-confirmation", "auth-required":
			return true
		}
	}
	return false
}
