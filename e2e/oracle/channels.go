package oracle

func (r *reduction) root(action string) {
	switch action {
	case "root/agentsChanged":
		replace(r.s, r.a, "agents")
	case "root/activeSessionsChanged":
		replace(r.s, r.a, "activeSessions")
	case "root/terminalsChanged":
		replace(r.s, r.a, "terminals")
	case "root/configChanged":
		r.changeConfig()
	}
}

func (r *reduction) terminal(action string) {
	switch action {
	case "terminal/data":
		r.terminalData(text(r.a, "data"))
	case "terminal/resized":
		replace(r.s, r.a, "cols", "rows")
	case "terminal/claimed":
		replace(r.s, r.a, "claim")
	case "terminal/titleChanged":
		replace(r.s, r.a, "title")
	case "terminal/cwdChanged":
		replace(r.s, r.a, "cwd")
	case "terminal/exited":
		r.terminalExited()
	case "terminal/cleared":
		r.s["content"] = list{}
	case "terminal/commandDetectionAvailable":
		r.s["supportsCommandDetection"] = true
	case "terminal/commandExecuted":
		part := object{"type": "command", "output": "", "isComplete": false}
		take(part, r.a, "commandId", "commandLine", "timestamp")
		r.s["content"] = append(items(r.s, "content"), part)
		r.s["supportsCommandDetection"] = true
	case "terminal/commandFinished":
		for _, part := range items(r.s, "content") {
			p, _ := part.(object)
			if text(p, "type") == "command" && p["commandId"] == r.a["commandId"] && !flag(p, "isComplete") {
				p["isComplete"] = true
				replace(p, r.a, "exitCode", "durationMs")
			}
		}
	}
}

// terminalData appends output to the running command or to unclassified output. Empty output adds
// no part.
func (r *reduction) terminalData(data string) {
	if data == "" {
		return
	}
	content := items(r.s, "content")
	if len(content) > 0 {
		last, _ := content[len(content)-1].(object)
		switch {
		case text(last, "type") == "unclassified":
			last["value"] = text(last, "value") + data
			return
		case text(last, "type") == "command" && !flag(last, "isComplete"):
			last["output"] = text(last, "output") + data
			return
		}
	}
	r.s["content"] = append(content, object{"type": "unclassified", "value": data})
}

func (r *reduction) terminalExited() {
	if r.version < v090 {
		replace(r.s, r.a, "exitCode")
		return
	}
	lifecycle := object{"status": "exited"}
	take(lifecycle, r.a, "exitCode")
	r.s["lifecycle"] = lifecycle
}

func (r *reduction) changeset(action string) {
	switch action {
	case "changeset/statusChanged":
		r.s["status"] = r.a["status"]
		r.putError(r.s)
	case "changeset/fileSet":
		upsert(r.s, "files", "id", r.a["file"])
	case "changeset/fileRemoved":
		remove(r.s, "files", "id", text(r.a, "fileId"))
	case "changeset/filesReviewChanged":
		r.review("files")
	case "changeset/filesReviewedChanged": // its name before 0.6.0
		r.review("fileIds")
	case "changeset/contentChanged":
		r.contentChanged()
	case "changeset/operationsChanged":
		replace(r.s, r.a, "operations")
	case "changeset/operationStatusChanged":
		if i := find(items(r.s, "operations"), "id", text(r.a, "operationId")); i >= 0 {
			operation := items(r.s, "operations")[i].(object)
			operation["status"] = r.a["status"]
			r.putError(operation)
		}
	case "changeset/cleared":
		r.s["files"] = list{}
	}
}

// putError sets the error if the status is error, and removes it otherwise.
func (r *reduction) putError(o object) {
	delete(o, "error")
	if text(r.a, "status") == "error" {
		take(o, r.a, "error")
	}
}

func (r *reduction) review(ids string) {
	for _, file := range items(r.s, "files") {
		if f, _ := file.(object); contains(items(r.a, ids), text(f, "id")) {
			f["reviewed"] = flag(r.a, "reviewed")
		}
	}
}

func (r *reduction) contentChanged() {
	r.s["files"] = items(r.a, "files")
	take(r.s, r.a, "operations")
	if r.version < v090 {
		replace(r.s, r.a, "error")
	}
}

func (r *reduction) annotations(action string) {
	annotations := items(r.s, "annotations")
	var annotation object
	if i := find(annotations, "id", text(r.a, "annotationId")); i >= 0 {
		annotation = annotations[i].(object)
	}
	switch action {
	case "annotations/set":
		upsert(r.s, "annotations", "id", r.a["annotation"])
	case "annotations/removed":
		remove(r.s, "annotations", "id", text(r.a, "annotationId"))
	case "annotations/updated":
		if annotation != nil {
			take(annotation, r.a, "turnId", "origin", "resource", "range", "resolved")
		}
	case "annotations/entrySet":
		if annotation != nil {
			upsert(annotation, "entries", "id", r.a["entry"])
		}
	case "annotations/entryRemoved":
		if annotation != nil {
			remove(annotation, "entries", "id", text(r.a, "entryId"))
		}
	}
}

func (r *reduction) automation(action string) {
	switch action { // requests change nothing: the host answers with automation/set or removed
	case "automation/set":
		upsert(r.s, "entries", "resource", r.a["automation"])
	case "automation/removed":
		remove(r.s, "entries", "resource", text(r.a, "resource"))
	}
}

func (r *reduction) automationRun(action string) {
	switch action {
	case "automationRun/lifecycleChanged":
		replace(r.s, r.a, "lifecycle")
	case "automationRun/sessionSet":
		addToSet(r.s, "sessions", text(r.a, "session"))
	case "automationRun/sessionRemoved":
		dropFromSet(r.s, "sessions", text(r.a, "session"))
		if r.s["primarySession"] == r.a["session"] {
			delete(r.s, "primarySession")
		}
	case "automationRun/primarySessionChanged":
		replace(r.s, r.a, "primarySession")
	}
}

func (r *reduction) canvas(action string) {
	if action == "canvas/stateChanged" && member(r.a, "canvas") != nil {
		r.s = member(r.a, "canvas")
	}
}
