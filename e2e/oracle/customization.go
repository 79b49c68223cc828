package oracle

func (r *reduction) customization(action string) {
	id := text(r.a, "id")
	switch action {
	case "session/customizationsChanged":
		replace(r.s, r.a, "customizations")
	case "session/customizationUpdated":
		upsert(r.s, "customizations", "id", r.a["customization"])
	case "session/customizationRemoved":
		r.removeCustomization(id)
	case "session/customizationToggled":
		if found := r.findCustomization(id); found != nil {
			r.toggle(found)
		}
	case "session/mcpServerStateChanged":
		if server := r.findServer(id); server != nil {
			replace(server, r.a, "state", "channel")
		}
	case "session/mcpServerStartRequested":
		r.askServer(id, "starting")
	case "session/mcpServerStopRequested":
		r.askServer(id, "stopped")
	case "session/mcpServerBackgroundRequested":
		state := member(r.findServer(id), "state")
		if text(state, "kind") == "starting" && flag(state, "blocking") {
			state["blocking"] = false
		}
	}
}

// findCustomization searches the top level, then the children of every container.
func (r *reduction) findCustomization(id string) object {
	top := items(r.s, "customizations")
	if i := find(top, "id", id); i >= 0 {
		return top[i].(object)
	}
	for _, container := range top {
		c, _ := container.(object)
		if i := find(items(c, "children"), "id", id); i >= 0 {
			return items(c, "children")[i].(object)
		}
	}
	return nil
}

func (r *reduction) findServer(id string) object {
	if found := r.findCustomization(id); text(found, "type") == "mcpServer" {
		return found
	}
	return nil
}

func (r *reduction) askServer(id, state string) {
	if server := r.findServer(id); server != nil {
		server["state"] = object{"kind": state}
		delete(server, "channel")
	}
}

func (r *reduction) removeCustomization(id string) {
	if remove(r.s, "customizations", "id", id) {
		return
	}
	for _, container := range items(r.s, "customizations") {
		if c, _ := container.(object); remove(c, "children", "id", id) {
			return
		}
	}
}

// toggle switches a customization. Since 0.5.2, this includes children other than MCP servers.
// Since 0.8.0, plugins and MCP servers keep all decisions, and others only the effect of the first
// one. Unknown kinds are left to their version.
func (r *reduction) toggle(found object) {
	kind := text(found, "type")
	if r.version < v080 {
		if r.version >= v052 || kind == "plugin" || kind == "mcpServer" || kind == "directory" {
			found["enabled"] = flag(r.a, "enabled")
		}
		return
	}
	decisions := items(r.a, "enablement")
	switch kind {
	case "plugin", "mcpServer":
		delete(found, "enablement")
		if len(decisions) > 0 {
			found["enablement"] = decisions
		}
	case "directory", "agent", "skill", "prompt", "rule", "hook":
		found["enabled"] = true // enablement[0]?.enabled ?? true
		if len(decisions) > 0 {
			first, _ := decisions[0].(object)
			take(found, first, "enabled")
		}
	}
}
