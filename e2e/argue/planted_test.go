package argue

import (
	"slices"
	"testing"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
)

// fault breaks the program's reducer for one type of action: it changes the state after it.
type fault struct {
	name, kind, action string
	spoil              func(before, action, after object)
}

var planted = []fault{
	{"toolCallReady changes who executes a call", "chat", "chat/toolCallReady", func(_, a, after object) {
		eachCall(after, a, func(call object) { move(call, a, "contributor") })
	}},
	{"turnsLoaded doubles what is there", "chat", "chat/turnsLoaded", func(before, a, after object) {
		after["turns"] = slices.Concat(entries(a, "turns"), entries(before, "turns"))
	}},
	{"an approval forgets the option", "chat", "chat/toolCallConfirmed", func(_, a, after object) {
		eachCall(after, a, func(call object) { delete(call, "selectedOption") })
	}},
	{"a denial keeps no reason", "chat", "chat/toolCallConfirmed", func(_, a, after object) {
		eachCall(after, a, func(call object) { delete(call, "reason") })
	}},
	{"a successful result ends a wait for a sign-in", "chat", "chat/toolCallComplete", func(_, a, after object) {
		eachCall(after, a, func(call object) {
			if call["status"] == "auth-required" {
				call["status"] = "completed"
			}
		})
	}},
	{"a turn's end leaves its calls open", "chat", "chat/turnComplete", func(before, a, after object) {
		if n := len(entries(after, "turns")); n > len(entries(before, "turns")) {
			active, _ := before["activeTurn"].(object)
			entries(after, "turns")[n-1].(object)["responseParts"] = active["responseParts"]
		}
	}},
	{"a turn's end keeps the offset of its time", "chat", "chat/turnCancelled", func(before, _, after object) {
		after["modifiedAt"] = before["modifiedAt"]
	}},
	{"any failed turn is resumed", "chat", "chat/turnResume", func(before, a, after object) {
		turns := entries(after, "turns")
		if len(turns) == 0 || after["activeTurn"] != nil {
			return
		}
		last := turns[len(turns)-1].(object)
		if last["state"] == "error" && last["id"] == a["turnId"] {
			after["turns"], after["activeTurn"] = turns[:len(turns)-1], last
		}
	}},
	{"truncating all keeps the cursor", "chat", "chat/truncated",
		func(before, _, after object) { move(after, before, "turnsNextCursor") }},
	{"reordering drops what is not named", "chat", "chat/queuedMessagesReordered", func(_, a, after object) {
		after["queuedMessages"] = slices.DeleteFunc(entries(after, "queuedMessages"), func(m any) bool {
			return !slices.Contains(entries(a, "order"), m.(object)["id"])
		})
	}},
	{"an answer clears the others", "chat", "chat/inputAnswerChanged", func(_, a, after object) {
		active, _ := after["activeTurn"].(object)
		for _, p := range entries(active, "responseParts") {
			request, _ := p.(object)["request"].(object)
			if request["id"] == a["requestId"] && a["answer"] != nil {
				request["answers"] = object{a["questionId"].(string): a["answer"]}
			}
		}
	}},
	{"an input request keeps the chat read", "chat", "chat/inputRequested",
		func(before, _, after object) { move(after, before, "status") }},
	{"the last removed request leaves the session waiting", "session", "session/inputNeededRemoved",
		func(before, _, after object) { move(after, before, "status") }},
	{"a call for a client raises InputNeeded", "session", "session/inputNeededSet", func(_, a, after object) {
		if request := a["request"].(object); request["kind"] == "toolClientExecution" {
			after["status"] = float64(24)
		}
	}},
	{"a removed chat stays the default", "session", "session/chatRemoved", func(before, _, after object) {
		move(after, before, "defaultChat")
	}},
	{"an update of a chat replaces it", "session", "session/chatUpdated", func(_, a, after object) {
		for _, c := range entries(after, "chats") {
			if chat := c.(object); chat["resource"] == a["chat"] {
				delete(chat, "interactivity")
			}
		}
	}},
	{"a client's update joins a second time", "session", "session/activeClientSet", func(before, a, after object) {
		after["activeClients"] = append(entries(before, "activeClients"), a["activeClient"])
	}},
	{"children cannot be switched", "session", "session/customizationToggled", func(before, a, after object) {
		for _, c := range entries(before, "customizations") {
			if c.(object)["id"] == a["id"] {
				return
			}
		}
		move(after, before, "customizations")
	}},
	{"a stopped server keeps its channel", "session", "session/mcpServerStopRequested", func(before, _, after object) {
		for i, c := range entries(before, "customizations") {
			if is := entries(after, "customizations")[i].(object); c.(object)["channel"] != nil {
				move(is, c.(object), "channel")
			}
		}
	}},
	{"a part of the chats is an order", "session", "session/chatsReordered", func(before, a, after object) {
		if n := len(entries(a, "chats")); n > 0 && n < len(entries(before, "chats")) {
			after["chats"] = entries(before, "chats")[:n]
		}
	}},
	{"a replaced directory is there twice", "session", "session/workingDirectoryReplaced",
		func(before, a, after object) {
			if slices.Contains(entries(before, "workingDirectories"), a["replacement"]) {
				move(after, before, "workingDirectories")
			}
		}},
	{"output after a command is still the command's", "terminal", "terminal/data", func(before, a, after object) {
		n := len(entries(before, "content"))
		if n == 0 || a["data"] == "" {
			return
		}
		if last := entries(before, "content")[n-1].(object); last["type"] == "command" && last["isComplete"] == true {
			last["output"] = last["output"].(string) + a["data"].(string)
			after["content"] = before["content"]
		}
	}},
	{"an exit keeps the code before", "terminal", "terminal/exited", func(before, a, after object) {
		if a["exitCode"] == nil {
			move(after, before, "lifecycle")
		}
	}},
	{"a status keeps the error before", "changeset", "changeset/statusChanged", func(before, _, after object) {
		move(after, before, "error")
	}},
	{"new content clears the error", "changeset", "changeset/contentChanged",
		func(_, _, after object) { delete(after, "error") }},
	{"moving a thread clears its range", "annotations", "annotations/updated", func(_, a, after object) {
		for _, e := range entries(after, "annotations") {
			if thread := e.(object); thread["id"] == a["annotationId"] {
				move(thread, a, "range")
			}
		}
	}},
	{"an automation is listed twice", "automation", "automation/set", func(before, a, after object) {
		after["entries"] = append(entries(before, "entries"), a["automation"])
	}},
	{"a removed session stays the primary one", "automationRun", "automationRun/sessionRemoved",
		func(before, _, after object) { move(after, before, "primarySession") }},
	{"settings are replaced instead of merged", "root", "root/configChanged", func(_, a, after object) {
		if config, ok := after["config"].(object); ok {
			config["values"] = a["config"]
		}
	}},
}

// TestPlantedFaultsAreFound breaks the program's reducer in one place at a time. The short form of
// the comparison must find each fault.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, kind := range spec.Need(t, ahp.Version).Channels() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			open := map[string]fault{}
			for _, f := range planted {
				if f.kind == kind {
					open[f.name] = f
				}
			}
			a := newArgument(t, kind, nil)
			a.judge = func(before ahp.State, action, want object) {
				for name, f := range open {
					a.ours = f.reduce
					if f.action == action["type"] && a.step(&before, action, want) != "" {
						delete(open, name)
					}
				}
				a.ours = ahp.Reduce
			}
			a.ours = ahp.Reduce
			for seed := uint64(0); seed < shortSeeds(kind) && len(open) > 0; seed++ {
				a.run(seed)
			}
			for name := range open {
				t.Errorf("%s: %d states and %d actions on each did not show it", name, shortSeeds(kind), steps)
			}
		})
	}
}

func (f fault) reduce(s ahp.State, a ahp.Action) ahp.State {
	after := ahp.Reduce(s, a)
	if a.ActionType() != f.action {
		return after
	}
	spoiled := decode(after)
	f.spoil(decode(s), decode(a), spoiled)
	typed, err := ahp.UnmarshalState(ahp.ChannelKind(f.kind), encode(spoiled))
	if err != nil {
		panic(err)
	}
	return typed
}

func entries(o object, key string) []any {
	v, _ := o[key].([]any)
	return v
}

// move copies a property from from, or removes it.
func move(to, from object, key string) {
	if from[key] == nil {
		delete(to, key)
	} else {
		to[key] = from[key]
	}
}

// eachCall runs f on the action's tool call.
func eachCall(chat, action object, f func(call object)) {
	active, _ := chat["activeTurn"].(object)
	for _, p := range entries(active, "responseParts") {
		if call, ok := p.(object)["toolCall"].(object); ok && call["toolCallId"] == action["toolCallId"] {
			f(call)
		}
	}
}

// TestUnspoiledReducerIsNotBlamed checks that the wrapper itself is not reported as a fault.
func TestUnspoiledReducerIsNotBlamed(t *testing.T) {
	for _, kind := range []string{"chat", "session"} {
		a := newArgument(t, kind, fault{"", kind, "", nil}.reduce)
		for seed := range uint64(5) {
			if found := a.run(seed); found != "" {
				t.Error(found)
			}
		}
	}
	if oracle.Diff(object{"a": "b"}, object{}) == "" {
		t.Error("a missing property is no difference")
	}
}
