package dialect

import "github.com/ahphub/ahphub/hub/ahp"

// to090 converts between 0.8.0 and 0.9.0: errors became response parts, terminals got a lifecycle,
// threads an origin. It also removes what 1.0 added, because 0.9 clients get that unchanged.
var to090 = &step{old: Version{0, 8, 0}, new: Version{0, 9, 0},
	down: map[string]edit{
		"session": lifecycleDown,
		"turn":    turnErrorDown,
		"chat/error": func(_ *Context, o object) bool {
			o["error"] = child(child(o, "part"), "error")
			delete(o, "part")
			return true
		},
		"chat/responsePart":       func(_ *Context, o object) bool { return text(child(o, "part"), "kind") != "error" },
		"messageOrigin":           automationDown,
		"terminal":                exitDown,
		"terminalInfo":            exitDown,
		"annotation":              originDown,
		"annotations/updated":     originDown,
		"changeset":               recomputingDown,
		"changeset/statusChanged": recomputingDown,
	},
	up: map[string]edit{
		"session":                  lifecycleUp,
		"turn":                     turnErrorUp,
		"chat/error":               chatErrorUp,
		"terminal":                 exitUp,
		"terminalInfo":             exitUp,
		"claim":                    claimUp,
		"annotation":               originUp,
		"annotations/updated":      originUp,
		"changeset/contentChanged": func(_ *Context, o object) bool { delete(o, "error"); return true },
		paramsOf + "createSession": func(_ *Context, o object) bool { return o["fork"] == nil },
	},
	converts: []string{"TerminalState.lifecycle", "TerminalInfo.lifecycle", "Annotation.origin",
		"AnnotationsUpdatedAction.origin", "ChatErrorAction.part"},
	lost: []Loss{
		{"`lifecycle: failed`", "`creationFailed`"},
		{"error part of a turn", "`Turn.error`; errors of a resumed turn are left out"},
		{"`chat/turnResume`", "not sent: the turn stays failed until the next snapshot"},
		{"message from an automation", "message from a system notification"},
		{"channels and commands of automations", "not available: -32008 and -32601"},
		{"lifecycle of a terminal", "`exitCode`, absent while the terminal runs and if the code is unknown"},
		{"claim of the client for a session", "a claim for the terminal's current chat, or for the session's default chat"},
		{"origin of a thread", "`turnId`, empty if there is none; the thread's chat is left out"},
		{"`recomputing` changeset", "`computing`"},
		{"error of a changeset", "cleared when the content changes, as in old reducers"},
		{"`createSession.fork` of the client", "refused; fork a chat instead"},
	},
}

func lifecycleDown(_ *Context, o object) bool {
	if o["lifecycle"] == "failed" {
		o["lifecycle"] = "creationFailed"
	}
	return true
}

func lifecycleUp(_ *Context, o object) bool {
	if o["lifecycle"] == "creationFailed" {
		o["lifecycle"] = "failed"
	}
	return true
}

// turnErrorDown removes the error parts; the last one is the turn's error.
func turnErrorDown(_ *Context, o object) bool {
	kept := []any{}
	for _, p := range list(o, "responseParts") {
		if part, _ := p.(object); text(part, "kind") != "error" {
			kept = append(kept, p)
		} else if o["state"] == "error" {
			o["error"] = part["error"]
		}
	}
	o["responseParts"] = kept
	return true
}

func turnErrorUp(_ *Context, o object) bool {
	if e := child(o, "error"); e != nil {
		o["responseParts"] = append(list(o, "responseParts"), object{"kind": "error", "error": e})
	}
	delete(o, "error")
	return true
}

func chatErrorUp(_ *Context, o object) bool {
	if e := child(o, "error"); e != nil {
		o["part"] = object{"kind": "error", "error": e}
	}
	delete(o, "error")
	return true
}

func automationDown(_ *Context, o object) bool {
	if o["kind"] == "automation" {
		o["kind"] = "systemNotification"
	}
	return true
}

func exitDown(_ *Context, o object) bool {
	if code, ok := child(o, "lifecycle")["exitCode"]; ok {
		o["exitCode"] = code
	}
	delete(o, "lifecycle")
	return true
}

func exitUp(_ *Context, o object) bool {
	if code, ok := o["exitCode"]; ok && code != nil {
		o["lifecycle"] = object{"status": "exited", "exitCode": code}
	} else {
		o["lifecycle"] = object{"status": "running"}
	}
	delete(o, "exitCode")
	return true
}

// claimUp sets the chat of a session's claim: the terminal's current one, else the session's
// default.
func claimUp(c *Context, o object) bool {
	if o["kind"] != "session" || o["chat"] != nil {
		return true
	}
	o["chat"] = ""
	if c.DefaultChat != nil {
		o["chat"] = c.DefaultChat(text(o, "session"))
	}
	if t, ok := c.State.(*ahp.TerminalState); ok {
		if claim, ok := t.Claim.Value.(*ahp.TerminalSessionClaim); ok && claim.Session == text(o, "session") {
			o["chat"] = claim.Chat
		}
	}
	return true
}

func originDown(_ *Context, o object) bool {
	origin := child(o, "origin")
	delete(o, "origin")
	_, whole := o["entries"]
	if turn, ok := origin["turnId"].(string); ok {
		o["turnId"] = turn
	} else if whole || origin != nil {
		o["turnId"] = "" // required of a thread; in an update, absent would keep the old turn
	}
	return true
}

func originUp(c *Context, o object) bool {
	turn, ok := o["turnId"].(string)
	delete(o, "turnId")
	if _, whole := o["entries"]; !ok && !whole {
		return true
	}
	origin := object{"session": c.Session}
	if turn != "" {
		origin["turnId"] = turn
	}
	o["origin"] = origin
	return true
}

func recomputingDown(_ *Context, o object) bool {
	if o["status"] == "recomputing" {
		o["status"] = "computing"
	}
	return true
}
