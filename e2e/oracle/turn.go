package oracle

import "time"

func (r *reduction) turn(action string) {
	switch action {
	case "chat/turnStarted":
		r.startTurn()
	case "chat/turnComplete":
		r.endTurn("complete", statusIdle)
	case "chat/turnCancelled":
		r.endTurn("cancelled", statusIdle)
	case "chat/error":
		r.endTurn("error", statusError)
	case "chat/turnResume":
		r.resumeTurn()
	case "chat/truncated":
		r.truncate()
	case "chat/turnsLoaded":
		r.loadTurns()
	case "chat/responsePart":
		part := member(r.a, "part")
		if active := r.activeTurn(); active != nil && (r.version < v090 || text(part, "kind") != "error") {
			active["responseParts"] = append(items(active, "responseParts"), part)
		}
	case "chat/delta":
		r.appendText("markdown")
	case "chat/reasoning":
		r.appendText("reasoning")
	case "chat/usage":
		if active := r.activeTurn(); active != nil {
			replace(active, r.a, "usage")
		}
	}
}

// activeTurn returns the action's turn, or nil if it is not the active one.
func (r *reduction) activeTurn() object {
	active := member(r.s, "activeTurn")
	if active == nil || active["id"] != r.a["turnId"] {
		return nil
	}
	return active
}

func (r *reduction) startTurn() {
	active := object{"id": r.a["turnId"], "responseParts": list{}}
	take(active, r.a, "message")
	if r.version >= v060 {
		take(active, r.a, "startedAt")
		r.s["modifiedAt"] = r.a["startedAt"]
	}
	r.s["activeTurn"] = active
	if id := text(r.a, "queuedMessageId"); id != "" {
		r.dropQueued(id)
		r.dropSteering(id)
	}
	r.setActivity(statusInProgress)
	if r.openRequests() {
		r.setActivity(statusInputNeeded)
	}
	setBit(r.s, statusIsRead, false)
}

// endTurn completes the active turn.
func (r *reduction) endTurn(state string, activity int64) {
	active := r.activeTurn()
	if active == nil {
		return
	}
	turn := object{"state": state}
	take(turn, active, "id", "message", "responseParts", "usage")
	for _, part := range items(turn, "responseParts") {
		if p, _ := part.(object); text(p, "kind") == "toolCall" {
			p["toolCall"] = r.skipped(member(p, "toolCall"))
		}
	}
	if r.version >= v060 {
		duration := max(0, integer(r.a, "duration"))
		take(turn, active, "startedAt")
		turn["duration"] = number(duration)
		if at, err := time.Parse(time.RFC3339Nano, text(active, "startedAt")); err == nil {
			r.s["modifiedAt"] = at.Add(time.Duration(duration) * time.Millisecond).UTC().Format(
				"2006-01-02T15:04:05.000Z")
		}
	}
	if state == "error" && r.version < v090 {
		take(turn, r.a, "error")
	} else if state == "error" {
		turn["responseParts"] = append(items(turn, "responseParts"), r.a["part"])
	}
	r.s["turns"] = append(items(r.s, "turns"), turn)
	delete(r.s, "activeTurn")
	if r.version < v060 {
		delete(r.s, "inputRequests")
	}
	r.setActivity(activity)
}

// resumeTurn reactivates the last turn if its last part is an error that allows it.
func (r *reduction) resumeTurn() {
	turns := items(r.s, "turns")
	if r.s["activeTurn"] != nil || len(turns) == 0 {
		return
	}
	last, _ := turns[len(turns)-1].(object)
	parts := items(last, "responseParts")
	if last["id"] != r.a["turnId"] || text(last, "state") != "error" || len(parts) == 0 {
		return
	}
	if part, _ := parts[len(parts)-1].(object); text(part, "kind") != "error" || !flag(part, "resumable") {
		return
	}
	active := object{"startedAt": r.s["modifiedAt"]}
	take(active, last, "id", "startedAt", "message", "responseParts", "usage")
	r.s["turns"] = turns[:len(turns)-1]
	r.s["activeTurn"] = active
	r.refreshStatus()
	setBit(r.s, statusIsRead, false)
}

// truncate keeps the turns up to and including one, or none, and drops the active turn.
func (r *reduction) truncate() {
	turns := items(r.s, "turns")
	if id, ok := r.a["turnId"].(string); ok {
		i := find(turns, "id", id)
		if i < 0 {
			return
		}
		r.s["turns"] = turns[:i+1]
	} else {
		r.s["turns"] = list{}
		delete(r.s, "turnsNextCursor")
	}
	delete(r.s, "activeTurn")
	delete(r.s, "inputRequests")
	r.setActivity(statusIdle)
}

// loadTurns inserts older turns before the existing ones. A repeated page adds nothing.
func (r *reduction) loadTurns() {
	loaded := list{}
	for _, turn := range items(r.a, "turns") {
		if t, _ := turn.(object); find(items(r.s, "turns"), "id", text(t, "id")) < 0 {
			loaded = append(loaded, t)
		}
	}
	r.s["turns"] = append(loaded, items(r.s, "turns")...)
	replace(r.s, r.a, "turnsNextCursor")
}

// appendText appends to the part with the id, if its kind matches.
func (r *reduction) appendText(kind string) {
	parts := items(r.activeTurn(), "responseParts")
	for _, part := range parts {
		p, _ := part.(object)
		if p["id"] == r.a["partId"] && text(p, "kind") == kind {
			p["content"] = text(p, "content") + text(r.a, "content")
			return
		}
	}
}

// refreshStatus sets the activity according to the active turn.
func (r *reduction) refreshStatus() {
	switch {
	case r.openRequests() || r.waitingCalls():
		r.setActivity(statusInputNeeded)
	case r.s["activeTurn"] != nil:
		r.setActivity(statusInProgress)
	default:
		r.setActivity(statusIdle)
	}
}
