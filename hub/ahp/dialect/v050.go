package dialect

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// to050 converts between 0.4.0 and 0.5.0. In 0.4.0 the session's summary was a part of its state,
// there was one active client, and model and agent belonged to the session.
var to050 = &step{old: Version{0, 4, 0}, new: Version{0, 5, 0},
	down: map[string]edit{
		"root":      configDown,
		"agentInfo": modelsDown,
		// nothing would clear the activity
		"chat":                            func(_ *Context, o object) bool { delete(o, "activity"); return true },
		"session":                         summaryDown,
		resultOf + "resolveSessionConfig": func(_ *Context, o object) bool { return choicesDown(child(o, "schema")) },
		"sessionSummary":                  timesDown,
		"session/activeClientSet":         clientSetDown,
		"session/activeClientRemoved":     clientRemovedDown,
	},
	up: map[string]edit{
		"session":                          summaryUp,
		"sessionSummary":                   timesUp,
		"chat":                             modelUp,
		"chatSummary":                      modelUp,
		"session/activeClientChanged":      clientChangedUp,
		"session/activeClientToolsChanged": toolsChangedUp,
		"session/modelChanged":             func(*Context, object) bool { return false },
		"session/agentChanged":             func(*Context, object) bool { return false },
		paramsOf + "createSession":         modelUp,
		paramsOf + "createChat":            initialModelUp,
	},
	converts: []string{"SessionState.activeClients", "SessionState.activity", "SessionState.annotations",
		"SessionState.project",
		"SessionState.provider", "SessionState.status", "SessionState.title", "SessionState.workingDirectory"},
	lost: []Loss{
		{"fields of the session", "`summary`, with the times of its chats"},
		{"active clients", "the last one; none after any of them leaves"},
		{"model and agent of a message", "left out"},
		{"activity of a chat", "left out, because nothing would clear it"},
		{"choices of a setting, if some are not strings", "left out; clients can send any value"},
		{"`session/modelChanged` and `session/agentChanged` of the client",
			"refused; `model` and `agent` of `createChat` go into the chat's first message, all others are ignored"},
		{"`root/progress`", "not sent"},
	},
}

var summaryFields = []string{"provider", "title", "status", "activity", "project", "workingDirectory", "annotations"}

func summaryDown(c *Context, o object) bool {
	configDown(c, o)
	s := object{"resource": c.Resource}
	for _, f := range summaryFields {
		if v, ok := o[f]; ok {
			s[f] = v
			delete(o, f)
		}
	}
	s["createdAt"], s["modifiedAt"] = chatTimes(list(o, "chats"))
	o["summary"] = s
	timesDown(c, s)
	if l := list(o, "activeClients"); len(l) > 0 {
		o["activeClient"] = l[len(l)-1]
	}
	delete(o, "activeClients")
	return true
}

func configDown(_ *Context, o object) bool { return choicesDown(child(child(o, "config"), "schema")) }

func modelsDown(_ *Context, o object) bool {
	for _, m := range list(o, "models") {
		model, _ := m.(object)
		choicesDown(child(model, "configSchema"))
	}
	return true
}

// choicesDown removes the choices of a setting and their labels unless all are strings: these
// versions have no others.
func choicesDown(schema object) bool {
	for _, value := range list(schema, "enum") {
		if _, ok := value.(string); !ok {
			delete(schema, "enum")
			delete(schema, "enumLabels")
			delete(schema, "enumDescriptions")
			break
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner := child(schema, key); inner != nil {
			choicesDown(inner)
		}
	}
	for _, property := range child(schema, "properties") {
		if inner, ok := property.(object); ok {
			choicesDown(inner)
		}
	}
	return true
}

// chatTimes returns the first and the last time a chat changed.
func chatTimes(chats []any) (first, last string) {
	for _, c := range chats {
		chat, _ := c.(object)
		at := text(chat, "modifiedAt")
		if first == "" || at < first {
			first = at
		}
		last = max(last, at)
	}
	return first, last
}

func summaryUp(_ *Context, o object) bool {
	for _, f := range summaryFields {
		if v, ok := child(o, "summary")[f]; ok {
			o[f] = v
		}
	}
	delete(o, "summary")
	o["activeClients"] = []any{}
	if c := child(o, "activeClient"); c != nil {
		o["activeClients"] = []any{c}
	}
	delete(o, "activeClient")
	return true
}

// timesDown converts times to milliseconds since 1970; 0 for an invalid time.
func timesDown(_ *Context, o object) bool {
	for _, f := range []string{"createdAt", "modifiedAt"} {
		if s, ok := o[f].(string); ok {
			ms := int64(0)
			if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
				ms = t.UnixMilli()
			}
			o[f] = json.Number(strconv.FormatInt(ms, 10))
		}
	}
	return true
}

func timesUp(_ *Context, o object) bool {
	for _, f := range []string{"createdAt", "modifiedAt"} {
		if n, ok := o[f].(json.Number); ok {
			ms, _ := n.Float64()
			o[f] = ahp.FormatTime(time.UnixMilli(int64(ms)))
		}
	}
	return modelUp(nil, o)
}

func modelUp(_ *Context, o object) bool {
	delete(o, "model")
	delete(o, "agent")
	return true
}

func initialModelUp(_ *Context, o object) bool {
	if m := child(o, "initialMessage"); m != nil {
		for _, f := range []string{"model", "agent"} {
			if v, ok := o[f]; ok {
				m[f] = v
			}
		}
	}
	return modelUp(nil, o)
}

func clientSetDown(_ *Context, o object) bool {
	o["type"] = "session/activeClientChanged"
	return true
}

func clientRemovedDown(_ *Context, o object) bool {
	o["type"], o["activeClient"] = "session/activeClientChanged", nil
	delete(o, "clientId")
	return true
}

// clientChangedUp converts the action. A client can only remove itself.
func clientChangedUp(c *Context, o object) bool {
	o["type"] = "session/activeClientSet"
	if o["activeClient"] == nil {
		o["type"], o["clientId"] = "session/activeClientRemoved", c.active()
		delete(o, "activeClient")
	}
	return true
}

// active returns the sending client, or the active client when the sender is unknown.
func (c *Context) active() string {
	if s, ok := c.State.(*ahp.SessionState); ok && c.ClientID == "" && len(s.ActiveClients) > 0 {
		return s.ActiveClients[len(s.ActiveClients)-1].ClientID
	}
	return c.ClientID
}

// toolsChangedUp sets the client again, with other tools.
func toolsChangedUp(c *Context, o object) bool {
	id := c.active()
	var client object
	if s, ok := c.State.(*ahp.SessionState); ok {
		for _, a := range s.ActiveClients {
			if a.ClientID != id {
				continue
			}
			if b, err := ahp.Marshal(a); err == nil {
				if v, err := decode(b); err == nil {
					client = v.(object)
				}
			}
		}
	}
	if client == nil {
		return false
	}
	client["tools"] = list(o, "tools")
	delete(o, "tools")
	o["type"], o["activeClient"] = "session/activeClientSet", client
	return true
}
