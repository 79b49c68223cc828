package dialect

// to070 converts between 0.6.0 and 0.7.0: several working directories, side chats, tool input by
// reference.
var to070 = &step{old: Version{0, 6, 0}, new: Version{0, 7, 0},
	down: map[string]edit{
		"agentInfo":          capabilitiesDown,
		"session":            directoriesDown,
		"sessionSummary":     directoriesDown,
		"chat":               directoriesDown,
		"chatSummary":        directoriesDown,
		"chatOrigin":         sideChatDown,
		"attachment":         chatAttachmentDown,
		"toolCall":           toolInputDown,
		"chat/toolCallReady": toolInputDown,
		"chat/toolCallDelta": func(_ *Context, o object) bool { return orEmpty(o, "content") },
		"content":            terminalResultDown,
	},
	up: map[string]edit{
		"session":                  directoriesUp,
		"sessionSummary":           directoriesUp,
		"chat":                     directoriesUp,
		"chatSummary":              directoriesUp,
		"content":                  terminalResultUp,
		paramsOf + "createSession": directoriesUp,
		paramsOf + "createChat":    forkUp,
	},
	converts: []string{"ChatState.workingDirectories", "ChatSummary.workingDirectories",
		"SessionState.workingDirectories", "SessionSummary.workingDirectories", "ToolResultTerminalContent.result"},
	lost: []Loss{
		{"working directories after the first", "left out; changes to them are not sent"},
		{"side chat", "a fork"},
		{"chat attached to a message", "its label"},
		{"tool input by reference", "left out"},
		{"result of a tool's terminal", "`terminalComplete`; its title is left out"},
		{"`cwd` of a client's `terminalComplete`", "left out"},
	},
}

func capabilitiesDown(_ *Context, o object) bool {
	c := child(o, "capabilities")
	delete(c, "multipleWorkingDirectories")
	delete(child(c, "multipleChats"), "sideChat")
	return true
}

func directoriesDown(_ *Context, o object) bool {
	unwrapFirst(o, "workingDirectories", "workingDirectory")
	return true
}

func directoriesUp(_ *Context, o object) bool {
	wrapInList(o, "workingDirectory", "workingDirectories")
	return true
}

func forkUp(_ *Context, o object) bool {
	if s := child(o, "source"); s != nil && s["kind"] == nil {
		s["kind"] = "fork"
	}
	return true
}

func sideChatDown(_ *Context, o object) bool {
	if o["kind"] == "sideChat" {
		o["kind"] = "fork"
		delete(o, "selection")
	}
	return true
}

func chatAttachmentDown(_ *Context, o object) bool {
	if o["type"] == "chat" {
		o["type"] = "simple"
		delete(o, "resource")
		delete(o, "endTurn")
	}
	return true
}

func toolInputDown(_ *Context, o object) bool {
	if _, ref := o["toolInput"].(object); ref {
		delete(o, "toolInput")
	}
	return true
}

func orEmpty(o object, key string) bool {
	if o[key] == nil {
		o[key] = ""
	}
	return true
}

func terminalResultDown(_ *Context, o object) bool {
	if o["type"] != "terminal" {
		return true
	}
	delete(o, "isPty")
	if r := child(o, "result"); r != nil {
		o["type"] = "terminalComplete"
		delete(o, "title")
		for _, key := range []string{"exitCode", "preview", "truncated"} {
			if v, ok := r[key]; ok {
				o[key] = v
			}
		}
		if o["resource"] == "" {
			delete(o, "resource")
		}
	}
	delete(o, "result")
	return true
}

func terminalResultUp(_ *Context, o object) bool {
	if o["type"] != "terminalComplete" {
		return true
	}
	result := object{}
	for _, key := range []string{"exitCode", "preview", "truncated"} {
		if v, ok := o[key]; ok {
			result[key] = v
			delete(o, key)
		}
	}
	delete(o, "cwd")
	o["type"], o["title"], o["result"] = "terminal", "", result
	return orEmpty(o, "resource")
}
