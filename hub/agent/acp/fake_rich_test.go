package acp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The fake agent with all features of newer programs.

type richSession struct{ mode, model, effort, web string }

func capabilities(mode string) object {
	c := object{"loadSession": mode == "loads"}
	if mode == "rich" || mode == "options" {
		c["promptCapabilities"] = object{"image": true, "embeddedContext": true}
		c["mcpCapabilities"] = object{"http": true}
		c["sessionCapabilities"] = object{"fork": object{}, "resume": object{}, "additionalDirectories": object{}}
	}
	return c
}

func authMethods(mode string) []object {
	way := object{"id": "key", "name": "API key", "description": "set FAKE_KEY"}
	if mode == "handed" {
		way["_meta"] = object{"api-key": object{"provider": "fake"}}
	}
	if mode == "key" {
		way = object{"id": "key", "type": "env_var", "name": "API key",
			"vars": []object{{"name": "FAKE_KEY", "secret": true}}}
	}
	return []object{way}
}

func (f *fakeAct) made(mode, id string) object {
	out := object{"sessionId": id}
	if !slices.Contains([]string{"rich", "options", "planner", "yolo"}, mode) {
		return out
	}
	s := &richSession{"code", "small", "low", "false"}
	switch mode {
	case "planner":
		s.mode = "plan"
	case "yolo":
		s.mode = "yolo"
	}
	f.rich.Store(id, s)
	out["configOptions"] = s.options(mode == "options")
	if mode != "options" {
		out["modes"] = object{"currentModeId": s.mode,
			"availableModes": []object{{"id": "code", "name": "Code"},
				{"id": "plan", "name": "Plan", "description": "Only thinks"}}}
		out["models"] = object{"currentModelId": s.model,
			"availableModels": []object{{"modelId": "small", "name": "Small"}, {"modelId": "large", "name": "Large"}}}
	}
	return out
}

// options include the mode if the mode is "options", and are in one group.
func (s *richSession) options(withMode bool) []object {
	list := []object{
		{"id": "effort", "name": "Effort", "category": "thought_level", "type": "select", "currentValue": s.effort,
			"options": []object{{"group": "g", "name": "Usual",
				"options": []object{{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}}}}},
		{"id": "web", "name": "Web search", "type": "boolean", "currentValue": s.web == "true"},
		{"id": "later", "name": "Of a kind to come", "type": "slider", "currentValue": 3},
	}
	if withMode {
		list = append(list, object{"id": "approval", "name": "Mode", "category": "mode", "type": "select",
			"currentValue": s.mode,
			"options":      []object{{"value": "code", "name": "Code"}, {"value": "plan", "name": "Plan"}}})
	}
	return list
}

func (f *fakeAct) commands(mode, id string) {
	if mode != "rich" {
		return
	}
	f.update(id, object{"sessionUpdate": "available_commands_update", "availableCommands": []object{
		{"name": "review", "description": "Look at a change", "input": object{"hint": "what to look at"}},
		{"name": "compact", "description": "Forget most"}, {"name": "compact all", "description": ""},
		{"name": " ", "description": ""}}})
}

func (f *fakeAct) set(m, params object, session string) {
	v, ok := f.rich.Load(session)
	if !ok {
		f.write(object{"id": m["id"], "error": object{"code": -32601, "message": "Method not found"}})
		return
	}
	s := v.(*richSession)
	result := object{}
	switch m["method"] {
	case "session/set_mode":
		if params["modeId"] == "plan" && s.model == "large" {
			f.write(object{"id": m["id"], "error": object{"code": -32602, "message": "Large cannot plan"}})
			return
		}
		s.mode = params["modeId"].(string)
	case "session/set_model":
		s.model = params["modelId"].(string)
	default:
		value := fmt.Sprint(params["value"])
		switch params["configId"] {
		case "effort":
			s.effort = value
		case "web":
			if params["type"] != "boolean" {
				f.write(object{"id": m["id"], "error": object{"code": -32602, "message": "not a boolean"}})
				return
			}
			s.web = value
		default:
			s.mode = value
		}
		result["configOptions"] = s.options(params["configId"] == "approval")
	}
	f.write(object{"id": m["id"], "result": result})
}

func (f *fakeAct) richPrompt(session, order, rest string, blocks []any) {
	switch order {
	case "mode":
		v, _ := f.rich.Load(session)
		f.say(session, fmt.Sprintf("%+v", *v.(*richSession)))
	case "caps":
		c := f.caps.Load().(object)
		fs := c["fs"].(object)
		f.say(session, fmt.Sprintf("read %v write %v terminal %v form %v", fs["readTextFile"], fs["writeTextFile"],
			c["terminal"], c["elicitation"].(object)["form"] != nil))
	case "title":
		f.update(session, object{"sessionUpdate": "session_info_update", "title": rest})
		f.update(session, object{"sessionUpdate": "usage_update", "used": 5, "size": 10,
			"cost": object{"amount": 0.5, "currency": "USD"}})
		f.say(session, "so it is")
	case "switch":
		f.update(session, object{"sessionUpdate": "current_mode_update", "currentModeId": rest})
		f.say(session, "switched")
	case "blocks":
		var kinds []string
		for _, b := range blocks {
			o := b.(object)
			kind := fmt.Sprint(o["type"])
			if o["mimeType"] != nil {
				kind += " " + fmt.Sprint(o["mimeType"])
			}
			if r, ok := o["resource"].(object); ok {
				kind += fmt.Sprint(" ", r["uri"], " ", nameOr(r["text"], r["blob"]))
			}
			if o["uri"] != nil {
				kind += fmt.Sprint(" ", o["uri"])
			}
			kinds = append(kinds, kind)
		}
		f.say(session, strings.Join(kinds, " | "))
	case "form":
		f.form(session, nameOr(rest, "elicitation/create"))
	case "withdraw":
		wait := f.send("elicitation/create",
			object{"sessionId": session, "mode": "url", "elicitationId": "e", "url": "https://example.org/login",
				"message": "Log in there"})
		if rest == "done" {
			f.write(object{"method": "elicitation/complete", "params": object{"elicitationId": "e"}})
		} else {
			f.write(object{"method": "$/cancel_request", "params": object{"requestId": f.next.Load()}})
		}
		raw, _ := json.Marshal((<-wait)["result"])
		f.say(session, string(raw))
	case "openurl":
		got := f.call("elicitation/create", object{"sessionId": session, "mode": "url", "elicitationId": "e",
			"url": rest, "message": "Log in there"})
		raw, _ := json.Marshal(nameOr(got["result"], got["error"]))
		f.say(session, string(raw))
	case "task":
		f.task(session, rest)
	}
}

func nameOr[T any](v, otherwise T) T {
	if fmt.Sprint(v) == "" || fmt.Sprint(v) == "<nil>" {
		return otherwise
	}
	return v
}

func (f *fakeAct) form(session, method string) {
	schema := json.RawMessage(`{"type":"object","required":["name","size"],"properties":{
		"name":{"type":"string","title":"Name","minLength":2,"format":"email","default":"a@b.c"},
		"size":{"type":"integer","description":"How many","minimum":1,"maximum":9},
		"ratio":{"type":"number"},
		"sure":{"type":"boolean","default":true},
		"color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}],"default":"g"},
		"old style":{"type":"string","enum":["x","y"],"enumNames":["Ex","Why"]},
		"many":{"type":"array","minItems":1,"items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}}}`)
	got := f.call(method, object{"sessionId": session, "mode": "form", "message": "A few things",
		"requestedSchema": schema})
	raw, _ := json.Marshal(nameOr(got["result"], got["error"]))
	f.say(session, string(raw))
}

// task plays a sub-agent that reads a file, asks before it writes another, and reports what it
// found.
func (f *fakeAct) task(session, how string) {
	by := object{"claudeCode": object{"parentToolUseId": "task"}}
	tell := func(u object) { f.update(session, u) }
	tell(object{"sessionUpdate": "tool_call", "toolCallId": "task", "title": "Task", "kind": "think",
		"status": "pending", "rawInput": object{"description": "Find it", "prompt": "Find the thing",
			"subagent_type": "explorer"}})
	tell(object{"sessionUpdate": "agent_message_chunk", "_meta": by, "content": object{"type": "text",
		"text": "I look"}})
	tell(object{"sessionUpdate": "tool_call", "_meta": by, "toolCallId": "inner", "title": "Read it", "kind": "read",
		"status": "pending"})
	if how == "ask" {
		f.call("session/request_permission",
			object{"sessionId": session, "toolCall": object{"toolCallId": "inner", "_meta": by},
				"options": []object{{"optionId": "yes", "name": "Yes", "kind": "allow_once"}}})
	}
	tell(object{"sessionUpdate": "tool_call_update", "_meta": by, "toolCallId": "inner", "status": "completed"})
	f.say(session, "meanwhile")
	tell(object{"sessionUpdate": "tool_call_update", "toolCallId": "task", "status": "completed",
		"content": []object{{"type": "content", "content": object{"type": "text", "text": "found"}}}})
	f.say(session, "done")
}
