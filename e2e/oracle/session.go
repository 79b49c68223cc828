package oracle

func (r *reduction) session(action string) {
	switch action {
	case "session/ready":
		r.s["lifecycle"] = "ready"
	case "session/creationFailed":
		r.s["lifecycle"] = "failed"
		if r.version < v090 {
			r.s["lifecycle"] = "creationFailed"
		}
		r.s["creationError"] = r.a["error"]
	case "session/titleChanged":
		replace(r.metadata(), r.a, "title")
	case "session/activityChanged":
		replace(r.metadata(), r.a, "activity")
	case "session/isReadChanged":
		setBit(r.metadata(), statusIsRead, flag(r.a, "isRead"))
	case "session/isArchivedChanged":
		setBit(r.metadata(), statusIsArchived, flag(r.a, "isArchived"))
	case "session/changesetsChanged":
		replace(r.s, r.a, "changesets")
	case "session/serverToolsChanged":
		r.s["serverTools"] = r.a["tools"]
	case "session/configChanged":
		r.changeConfig()
	case "session/metaChanged":
		replace(r.s, r.a, "_meta")
	case "session/inputNeededSet":
		upsert(r.s, "inputNeeded", "id", r.a["request"])
		r.aggregateInputNeeded()
	case "session/inputNeededRemoved":
		if remove(r.s, "inputNeeded", "id", text(r.a, "id")) {
			dropEmpty(r.s, "inputNeeded")
			r.aggregateInputNeeded()
		}
	default:
		r.sessionChats(action)
		r.sessionClients(action)
		r.sessionDirectories(action)
		r.customization(action)
	}
}

// metadata returns the object with title and status: a separate summary before 0.5.0.
func (r *reduction) metadata() object {
	if summary := member(r.s, "summary"); r.version < v050 && summary != nil {
		return summary
	}
	return r.s
}

// aggregateInputNeeded sets InputNeeded while a request waits for a person; since 0.8, calls that a
// client executes do not count. After the last such request, the status is InProgress.
func (r *reduction) aggregateInputNeeded() {
	asks := false
	for _, request := range items(r.s, "inputNeeded") {
		q, _ := request.(object)
		asks = asks || text(q, "kind") != "toolClientExecution" || r.version < rankOf("0.8-dev")
	}
	status := integer(r.s, "status")
	switch {
	case asks:
		r.s["status"] = number(status&^statusActivity | statusInputNeeded)
	case status&statusInputNeeded == statusInputNeeded:
		r.s["status"] = number(status&^statusActivity | statusInProgress)
	}
}

func (r *reduction) sessionChats(action string) {
	switch action {
	case "session/chatAdded":
		upsert(r.s, "chats", "resource", r.a["summary"])
	case "session/chatRemoved":
		if remove(r.s, "chats", "resource", text(r.a, "chat")) && r.s["defaultChat"] == r.a["chat"] {
			delete(r.s, "defaultChat")
		}
	case "session/chatUpdated":
		i := find(items(r.s, "chats"), "resource", text(r.a, "chat"))
		if i < 0 {
			return
		}
		summary := items(r.s, "chats")[i].(object)
		for key, value := range member(r.a, "changes") {
			if key != "resource" && value != nil {
				summary[key] = value
			}
		}
	case "session/defaultChatChanged":
		replace(r.s, r.a, "defaultChat")
	case "session/chatsReordered":
		r.reorderChats()
	}
}

// reorderChats only accepts a complete order with every chat once.
func (r *reduction) reorderChats() {
	chats, order := items(r.s, "chats"), items(r.a, "chats")
	if len(chats) != len(order) {
		return
	}
	seen := map[string]bool{}
	sorted := list{}
	for _, uri := range order {
		name, _ := uri.(string)
		i := find(chats, "resource", name)
		if i < 0 || seen[name] {
			return
		}
		seen[name] = true
		sorted = append(sorted, chats[i])
	}
	r.s["chats"] = sorted
}

func (r *reduction) sessionClients(action string) {
	switch action {
	case "session/activeClientSet":
		upsert(r.s, "activeClients", "clientId", r.a["activeClient"])
	case "session/activeClientRemoved":
		remove(r.s, "activeClients", "clientId", text(r.a, "clientId"))
	case "session/activeClientChanged": // up to 0.4
		replace(r.s, r.a, "activeClient")
	case "session/activeClientToolsChanged":
		if client := member(r.s, "activeClient"); client != nil {
			replace(client, r.a, "tools")
		}
	case "session/modelChanged":
		replace(r.metadata(), r.a, "model")
	case "session/agentChanged":
		replace(r.metadata(), r.a, "agent")
	}
}

func (r *reduction) sessionDirectories(action string) {
	switch action {
	case "session/workingDirectorySet":
		addToSet(r.s, "workingDirectories", text(r.a, "directory"))
	case "session/workingDirectoryRemoved":
		dropFromSet(r.s, "workingDirectories", text(r.a, "directory"))
	case "session/workingDirectoryReplaced":
		r.replaceDirectory(text(r.a, "directory"), text(r.a, "replacement"))
	}
}

// replaceDirectory puts replacement in the place of directory, unless an earlier entry equals it.
// The result has no duplicates.
func (r *reduction) replaceDirectory(directory, replacement string) {
	if !contains(items(r.s, "workingDirectories"), directory) {
		return
	}
	set := list{}
	for _, member := range items(r.s, "workingDirectories") {
		if member == directory {
			member = replacement
		}
		if name, _ := member.(string); !contains(set, name) {
			set = append(set, member)
		}
	}
	r.s["workingDirectories"] = set
}
