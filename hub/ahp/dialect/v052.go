package dialect

// to052 converts between 0.5.1 and 0.5.2, which shows answered input requests and the end of a
// tool's terminal.
var to052 = &step{old: Version{0, 5, 1}, new: Version{0, 5, 2},
	down: map[string]edit{
		"part":              func(_ *Context, o object) bool { return o["kind"] != "inputRequest" },
		"chat/responsePart": func(_ *Context, o object) bool { return o["part"] != nil },
		"content":           terminalEndDown,
		"customization":     childDown,

		"session/mcpServerStartRequested": func(_ *Context, o object) bool { return serverDown(o, "starting") },
		"session/mcpServerStopRequested":  func(_ *Context, o object) bool { return serverDown(o, "stopped") },
	},
	converts: []string{"AgentCustomization.enabled", "HookCustomization.enabled", "PromptCustomization.enabled",
		"RuleCustomization.enabled", "SkillCustomization.enabled"},
	lost: []Loss{
		{"`session/mcpServerStartRequested` and `session/mcpServerStopRequested`",
			"`session/mcpServerStateChanged`, to starting and to stopped"},
		{"`changeset/filesReviewedChanged`", "not sent"},
		{"answered input request of a turn", "left out"},
		{"end of a tool's terminal", "the terminal, or its last output"},
		{"a disabled child of a plugin", "left out of the plugin's children; a switch takes effect at the next snapshot"},
	},
}

func terminalEndDown(_ *Context, o object) bool {
	if o["type"] != "terminalComplete" {
		return true
	}
	resource, preview := text(o, "resource"), text(o, "preview")
	clear(o)
	switch {
	case resource != "":
		o["type"], o["resource"], o["title"] = "terminal", resource, ""
	case preview != "":
		o["type"], o["text"] = "text", preview
	default:
		return false
	}
	return true
}

// childDown hides disabled children: these versions lack the field, and would treat them as
// enabled.
func childDown(_ *Context, o object) bool {
	switch o["type"] {
	case "agent", "skill", "prompt", "rule", "hook":
		if o["enabled"] == false {
			return false
		}
		delete(o, "enabled")
	}
	return true
}

// serverDown sends the server's new state, as these versions do not know the request.
func serverDown(o object, state string) bool {
	o["type"], o["state"] = "session/mcpServerStateChanged", object{"kind": state}
	return true
}
