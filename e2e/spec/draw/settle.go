package draw

import (
	"encoding/json"
	"fmt"
)

// settle changes a generated state into one that a host could have.
func (d *Drawer) settle(kind string, s object) {
	switch kind {
	case "chat":
		d.settleChat(s)
	case "session":
		d.settleSession(s)
	case "terminal":
		numberCommands(s)
	case "root":
		for _, a := range items(s, "agents") {
			numberCustomizations(items(a.(object), "customizations"), "")
		}
	}
}

func (d *Drawer) settleChat(s object) {
	for i, turn := range items(s, "turns") {
		t := turn.(object)
		t["id"] = fmt.Sprint("t", i)
	}
	active, _ := s["activeTurn"].(object)
	if n := len(items(s, "turns")); n > 0 && active == nil && d.schema.Has("ErrorResponsePart") && d.IntN(2) == 0 {
		last := items(s, "turns")[n-1].(object)
		last["state"] = "error"
		part := d.value(d.schema.Type("ErrorResponsePart"), "", 2)
		last["responseParts"] = append(items(last, "responseParts"), part)
	}
	if active != nil {
		active["id"] = fmt.Sprint("t", len(items(s, "turns")))
	}
	if len(items(s, "queuedMessages")) == 0 {
		delete(s, "queuedMessages") // removed with its last message
	}
	if len(items(s, "inputRequests")) == 0 {
		delete(s, "inputRequests")
	}
	if active == nil {
		delete(s, "inputRequests")
	}
	setActivity(s, d.activityOf(s, active))
}

// The bits of a status.
const (
	idle        = 1
	failed      = 2
	inProgress  = 8
	inputNeeded = 24
)

func (d *Drawer) activityOf(chat, active object) int64 {
	if active == nil {
		return pick(d, []int64{idle, failed})
	}
	if chat["inputRequests"] != nil {
		return inputNeeded
	}
	for _, part := range items(active, "responseParts") {
		p := part.(object)
		if p["kind"] == "inputRequest" && p["response"] == nil &&
			d.schema.Type("ChatState").Field("inputRequests") == nil {
			return inputNeeded
		}
		if call, ok := p["toolCall"].(object); ok {
			switch call["status"] {
			case "pending-confirmation", "pending-result-confirmation", "auth-required":
				return inputNeeded
			}
		}
	}
	return inProgress
}

func setActivity(s object, activity int64) {
	n, _ := s["status"].(json.Number).Int64()
	s["status"] = integer(n&^31 | activity)
}

func (d *Drawer) settleSession(s object) {
	numberCustomizations(items(s, "customizations"), "")
	for _, c := range items(s, "activeClients") {
		numberCustomizations(items(c.(object), "customizations"), "")
	}
	if chats := collect(s, []string{"chats", "*", "resource"}); len(chats) > 0 && d.IntN(3) > 0 {
		s["defaultChat"] = pick(d, chats)
	}
	if len(items(s, "inputNeeded")) == 0 {
		delete(s, "inputNeeded") // removed with its last entry
	}
	if _, nested := s["summary"]; nested {
		return // before 0.5.0, only the host changes the activity
	}
	asks := false
	for _, q := range items(s, "inputNeeded") {
		asks = asks || q.(object)["kind"] != "toolClientExecution"
	}
	switch {
	case asks:
		setActivity(s, inputNeeded)
	case s["inputNeeded"] != nil: // a call is running
		setActivity(s, inProgress)
	default:
		setActivity(s, pick(d, []int64{idle, failed, inProgress}))
	}
}

// numberCustomizations names children after their containers: identifiers are unique in the whole
// tree.
func numberCustomizations(customizations list, container string) {
	for i, c := range customizations {
		c := c.(object)
		if container != "" {
			c["id"] = fmt.Sprint(container, ".", i)
		}
		id, _ := c["id"].(string)
		numberCustomizations(items(c, "children"), id)
	}
}

func numberCommands(terminal object) {
	for i, part := range items(terminal, "content") {
		if p := part.(object); p["type"] == "command" {
			p["commandId"] = fmt.Sprint("c", i)
		}
	}
}

func items(o object, key string) list {
	v, _ := o[key].(list)
	return v
}
