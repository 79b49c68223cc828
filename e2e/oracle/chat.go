package oracle

// The bits of a status. The lowest five are the activity; InputNeeded includes InProgress.
const (
	statusIdle        int64 = 1
	statusError       int64 = 2
	statusInProgress  int64 = 8
	statusInputNeeded int64 = 24
	statusActivity    int64 = 31
	statusIsRead      int64 = 32
	statusIsArchived  int64 = 64
)

func setBit(o object, bit int64, on bool) {
	status := integer(o, "status") &^ bit
	if on {
		status |= bit
	}
	o["status"] = number(status)
}

func (r *reduction) setActivity(activity int64) {
	r.s["status"] = number(integer(r.s, "status")&^statusActivity | activity)
}

func (r *reduction) chat(action string) {
	switch action {
	case "chat/activityChanged":
		replace(r.s, r.a, "activity")
	case "chat/draftChanged":
		replace(r.s, r.a, "draft")
	case "chat/movableChanged":
		replace(r.s, r.a, "movable")
	case "chat/changesetsChanged":
		replace(r.s, r.a, "changesets")
	case "chat/canvasesChanged":
		replace(r.s, r.a, "canvases")
	case "chat/isReadChanged":
		setBit(r.s, statusIsRead, flag(r.a, "isRead"))
	case "chat/isArchivedChanged":
		setBit(r.s, statusIsArchived, flag(r.a, "isArchived"))
	case "chat/workingDirectorySet":
		addToSet(r.s, "workingDirectories", text(r.a, "directory"))
	case "chat/workingDirectoryRemoved":
		dropFromSet(r.s, "workingDirectories", text(r.a, "directory"))
	case "chat/backgroundWorkSet":
		upsert(r.s, "backgroundWork", "id", r.a["work"])
	case "chat/backgroundWorkRemoved":
		remove(r.s, "backgroundWork", "id", text(r.a, "id"))
	default:
		r.pendingMessage(action)
		r.turn(action)
		r.toolCall(action)
		r.input(action)
	}
}

func (r *reduction) pendingMessage(action string) {
	steering := text(r.a, "kind") == "steering"
	switch action {
	case "chat/pendingMessageSet":
		entry := object{}
		take(entry, r.a, "id", "message")
		if steering {
			r.s["steeringMessage"] = entry
		} else {
			upsert(r.s, "queuedMessages", "id", entry)
		}
	case "chat/pendingMessageRemoved":
		if steering {
			r.dropSteering(text(r.a, "id"))
		} else {
			r.dropQueued(text(r.a, "id"))
		}
	case "chat/queuedMessagesReordered":
		r.reorderQueue()
	}
}

func (r *reduction) dropSteering(id string) {
	if text(member(r.s, "steeringMessage"), "id") == id {
		delete(r.s, "steeringMessage")
	}
}

func (r *reduction) dropQueued(id string) {
	if remove(r.s, "queuedMessages", "id", id) {
		dropEmpty(r.s, "queuedMessages")
	}
}

// reorderQueue ignores unknown ids and appends messages missing from the order.
func (r *reduction) reorderQueue() {
	if r.s["queuedMessages"] == nil {
		return
	}
	sorted := list{}
	for _, id := range items(r.a, "order") {
		name, _ := id.(string)
		if i := find(items(r.s, "queuedMessages"), "id", name); i >= 0 {
			sorted = append(sorted, items(r.s, "queuedMessages")[i])
			remove(r.s, "queuedMessages", "id", name)
		}
	}
	r.s["queuedMessages"] = append(sorted, items(r.s, "queuedMessages")...)
}
