package draw

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/e2e/spec"
)

// targets maps the fields of an action to the places in a state whose identifiers they may refer
// to. Fields named id differ by action.
var targets = map[string][]string{
	"turnId":           {"turns/*/id"},
	"partId":           {"activeTurn/responseParts/*/id"},
	"toolCallId":       {"activeTurn/responseParts/*/toolCall/toolCallId"},
	"requestId":        {"activeTurn/responseParts/*/request/id", "inputRequests/*/id"},
	"queuedMessageId":  {"queuedMessages/*/id", "steeringMessage/id"},
	"selectedOptionId": {"activeTurn/responseParts/*/toolCall/options/*/id"},
	"chat":             {"chats/*/resource"},
	"clientId":         {"activeClients/*/clientId"},
	"directory":        {"workingDirectories/*"},
	"replacement":      {"workingDirectories/*"},
	"fileId":           {"files/*/id"},
	"operationId":      {"operations/*/id"},
	"annotationId":     {"annotations/*/id"},
	"entryId":          {"annotations/*/entries/*/id"},
	"commandId":        {"content/*/commandId"},
	"resource":         {"entries/*/resource"},
	"session":          {"sessions/*"},

	"session/inputNeededRemoved id":          {"inputNeeded/*/id"},
	"session/customizationRemoved id":        {"customizations/*/id", "customizations/*/children/*/id"},
	"session/customizationToggled id":        {"customizations/*/id", "customizations/*/children/*/id"},
	"chat/backgroundWorkRemoved id":          {"backgroundWork/*/id"},
	"chat/pendingMessageSet id":              {"queuedMessages/*/id"},
	"chat/pendingMessageRemoved id":          {"queuedMessages/*/id", "steeringMessage/id"},
	"session/chatsReordered chats":           {"chats/*/resource"},
	"chat/queuedMessagesReordered order":     {"queuedMessages/*/id"},
	"changeset/filesReviewChanged files":     {"files/*/id"},
	"changeset/filesReviewedChanged fileIds": {"files/*/id"},
}

// aim makes an action mostly refer to existing parts of the state, and gives new names to what it
// adds.
func (d *Drawer) aim(action spec.Action, a, state object) {
	for _, name := range sortedKeys(a) {
		paths := targets[action.Type+" "+name]
		if paths == nil {
			paths = targets[name]
		}
		var found []string
		for _, path := range paths {
			found = append(found, collect(state, strings.Split(path, "/"))...)
		}
		if name == "id" && strings.HasPrefix(action.Type, "session/mcpServer") {
			found = servers(items(state, "customizations"))
		}
		if len(found) == 0 || d.IntN(8) == 0 {
			continue
		}
		switch a[name].(type) {
		case string:
			a[name] = pick(d, found)
		case list:
			a[name] = d.shuffled(found)
		}
	}
	d.aimAtTurn(action.Type, a, state)
	d.aimAtCall(action.Type, a, state)
	d.aimAtRequest(a, state)
	d.introduce(action.Type, a, state)
}

// servers returns the ids of the MCP servers in a tree.
func servers(customizations list) (ids []string) {
	for _, c := range customizations {
		c := c.(object)
		if id, ok := c["id"].(string); ok && c["type"] == "mcpServer" {
			ids = append(ids, id)
		}
		ids = append(ids, servers(items(c, "children"))...)
	}
	return ids
}

// shuffled returns the values in random order, sometimes with missing or repeated ones.
func (d *Drawer) shuffled(values []string) list {
	out := list{}
	for _, i := range d.Perm(len(values)) {
		out = append(out, values[i])
	}
	switch d.IntN(6) {
	case 0:
		out = out[1:]
	case 1:
		out[0] = out[len(out)-1]
	}
	return out
}

// aimAtTurn makes most actions of a turn refer to the active one.
func (d *Drawer) aimAtTurn(kind string, a, state object) {
	active, _ := state["activeTurn"].(object)
	if _, ok := a["turnId"].(string); !ok || active == nil || kind == "chat/truncated" || d.IntN(8) == 0 {
		return
	}
	a["turnId"] = active["id"]
}

// taken lists the states of a tool call in which an action has an effect.
var taken = map[string][]string{
	"chat/toolCallDelta":           {"streaming"},
	"chat/toolCallReady":           {"streaming", "running", "pending-confirmation"},
	"chat/toolCallConfirmed":       {"pending-confirmation"},
	"chat/toolCallComplete":        {"running", "auth-required"},
	"chat/toolCallResultConfirmed": {"pending-result-confirmation"},
	"chat/toolCallContentChanged":  {"running"},
	"chat/toolCallAuthRequired":    {"running"},
	"chat/toolCallAuthResolved":    {"auth-required"},
}

// aimAtCall makes most actions of a tool call refer to a call in a suitable state, and choose one
// of its options.
func (d *Drawer) aimAtCall(kind string, a, state object) {
	active, _ := state["activeTurn"].(object)
	var calls []object
	for _, part := range items(active, "responseParts") {
		call, _ := part.(object)["toolCall"].(object)
		if status, _ := call["status"].(string); slices.Contains(taken[kind], status) {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 || d.IntN(6) == 0 {
		return
	}
	call := pick(d, calls)
	a["toolCallId"] = call["toolCallId"]
	if options := collect(call, []string{"options", "*", "id"}); len(options) > 0 && a["selectedOptionId"] != nil {
		a["selectedOptionId"] = pick(d, options)
	}
}

// aimAtRequest makes most answers refer to a question of an open request.
func (d *Drawer) aimAtRequest(a, state object) {
	active, _ := state["activeTurn"].(object)
	open := items(state, "inputRequests")
	for _, part := range items(active, "responseParts") {
		if p := part.(object); p["kind"] == "inputRequest" && p["response"] == nil {
			open = append(open[:len(open):len(open)], p["request"])
		}
	}
	if a["requestId"] == nil || len(open) == 0 || d.IntN(6) == 0 {
		return
	}
	request := pick(d, open).(object)
	a["requestId"] = request["id"]
	answers, _ := request["answers"].(object)
	if questions := append(collect(request, []string{"questions", "*", "id"}), sortedKeys(answers)...); len(
		questions) > 0 &&
		a["questionId"] != nil && d.IntN(3) > 0 {
		a["questionId"] = pick(d, questions)
	}
}

// introduce gives new things names that do not exist in the state.
func (d *Drawer) introduce(kind string, a, state object) {
	switch kind {
	case "chat/turnResume":
		if turns := collect(state, []string{"turns", "*", "id"}); len(turns) > 0 && d.IntN(4) > 0 {
			a["turnId"] = turns[len(turns)-1]
		}
	case "chat/turnStarted":
		a["turnId"] = fmt.Sprint("n", d.IntN(1_000_000))
	case "chat/toolCallStart":
		a["toolCallId"] = fmt.Sprint("n", d.IntN(1_000_000))
	case "chat/responsePart":
		part := d.quiet(a)
		if call, ok := part["toolCall"].(object); ok {
			call["toolCallId"] = fmt.Sprint("n", d.IntN(1_000_000))
		} else if part["id"] != nil {
			part["id"] = fmt.Sprint("n", d.IntN(1_000_000))
		}
	case "chat/turnsLoaded":
		d.nameOlderTurns(items(a, "turns"), state)
	case "terminal/commandExecuted":
		a["commandId"] = fmt.Sprint("n", d.IntN(1_000_000))
	case "session/customizationsChanged":
		numberCustomizations(items(a, "customizations"), "")
	case "session/customizationUpdated":
		numberCustomizations(list{a["customization"]}, "")
	case "session/chatAdded":
		named(a["summary"], "resource", collect(state, []string{"chats", "*", "resource"}), d)
	case "session/chatUpdated":
		if changes, ok := a["changes"].(object); ok {
			delete(changes, "resource") // MUST NOT be carried
		}
	case "session/inputNeededSet":
		d.inProgress(a, state)
		named(a["request"], "id", collect(state, []string{"inputNeeded", "*", "id"}), d)
	case "chat/inputRequested":
		named(a["request"], "id", collect(state, []string{"activeTurn", "responseParts", "*", "request", "id"}), d)
	}
}

// inProgress allows calls by clients and sign-ins only in sessions that are in progress.
func (d *Drawer) inProgress(a, state object) {
	status, _ := state["status"].(json.Number)
	n, _ := status.Int64()
	request, _ := a["request"].(object)
	for n&inProgress == 0 && (request["kind"] == "toolClientExecution" || request["kind"] == "toolAuthentication") {
		a["request"] = d.value(d.schema.Type("SessionInputRequest"), "", 1)
		request = a["request"].(object)
	}
}

// quiet redraws the part of an action until it waits for no one: waiting parts start with their own
// actions.
func (d *Drawer) quiet(action object) object {
	for {
		part, _ := action["part"].(object)
		call, _ := part["toolCall"].(object)
		switch call["status"] {
		case "pending-confirmation", "pending-result-confirmation", "auth-required":
		default:
			if part["kind"] != "inputRequest" || part["response"] != nil {
				return part
			}
		}
		action["part"] = d.value(d.schema.Type("ResponsePart"), "responsePart", 1)
	}
}

// named gives an entry an existing name, half of the time.
func named(entry any, key string, there []string, d *Drawer) {
	if e, ok := entry.(object); ok && len(there) > 0 && d.IntN(2) == 0 {
		e[key] = pick(d, there)
	}
}

// nameOlderTurns names the turns of a page: older ones, or some existing ones again.
func (d *Drawer) nameOlderTurns(turns list, state object) {
	there := collect(state, []string{"turns", "*", "id"})
	again := len(there) > 0 && d.IntN(2) == 0
	for i, turn := range turns {
		t := turn.(object)
		t["id"] = fmt.Sprint("o", d.IntN(1_000_000))
		if again && i < len(there) {
			t["id"] = there[i]
		}
	}
}

// collect returns the strings at a path; a star matches every entry.
func collect(v any, path []string) (found []string) {
	if len(path) == 0 {
		if s, ok := v.(string); ok {
			found = append(found, s)
		}
		return found
	}
	switch v := v.(type) {
	case object:
		return collect(v[path[0]], path[1:])
	case list:
		for _, e := range v {
			found = append(found, collect(e, path[1:])...)
		}
	}
	return found
}
