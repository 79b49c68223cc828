package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the agent: with FAKE_ACP it speaks the protocol.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_ACP"); mode != "" {
		fakeAgent(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// lateReplay is the number of updates of a loaded session after the answer: more than a turn's
// queue holds.
const lateReplay = 2000

type object = map[string]any

// fakeAct is the agent's side of a connection.
type fakeAct struct {
	mu      sync.Mutex
	waiting map[int64]chan object
	next    atomic.Int64
	cancels sync.Map // session → chan struct{}
	way     atomic.Value
	key     atomic.Value
	caps    atomic.Value
	dirs    atomic.Value // of the newest session
	rich    sync.Map     // session → *richSession
}

func fakeAgent(mode string) {
	crash("start")
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence was found")
		os.Exit(3)
	case "garbage":
		fmt.Println("usage: fake [--help]")
		os.Exit(2)
	case "silent":
		time.Sleep(time.Hour)
	case "chatty":
		fmt.Println("fake agent 1.0 starting")
	}
	f := &fakeAct{waiting: map[int64]chan object{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var m object
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		if _, call := m["method"]; !call {
			f.mu.Lock()
			wait := f.waiting[int64(m["id"].(float64))]
			f.mu.Unlock()
			wait <- m
			continue
		}
		f.handle(mode, m)
	}
}

func (f *fakeAct) write(m object) {
	m["jsonrpc"] = "2.0"
	raw, _ := json.Marshal(m)
	f.mu.Lock()
	defer f.mu.Unlock()
	os.Stdout.Write(append(raw, '\n'))
}

func (f *fakeAct) call(method string, params object) object { return <-f.send(method, params) }

func (f *fakeAct) send(method string, params object) <-chan object {
	id := f.next.Add(1)
	wait := make(chan object, 1)
	f.mu.Lock()
	f.waiting[id] = wait
	f.mu.Unlock()
	f.write(object{"id": id, "method": method, "params": params})
	return wait
}

func (f *fakeAct) update(session string, u object) {
	f.write(object{"method": "session/update", "params": object{"sessionId": session, "update": u}})
}

func (f *fakeAct) say(session, text string) {
	f.update(session, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

func (f *fakeAct) handle(mode string, m object) {
	params, _ := m["params"].(object)
	session, _ := params["sessionId"].(string)
	answer := func(result any) { f.write(object{"id": m["id"], "result": result}) }
	crash(fmt.Sprint(m["method"]))
	switch m["method"] {
	case "initialize":
		f.caps.Store(params["clientCapabilities"])
		v := 1
		if mode == "future" {
			v = 9
		}
		answer(object{"protocolVersion": v, "agentInfo": object{"name": "fake", "version": "1.0"},
			"agentCapabilities": capabilities(mode),
			"authMethods":       authMethods(mode), "_meta": object{"steering": object{"supported": mode == "steers"}}})
	case "_session/steering":
		if c, ok := f.cancels.LoadAndDelete(session); ok { // ends "hold"
			f.say(session, "steered: "+params["prompt"].([]any)[0].(object)["text"].(string))
			answer(object{"outcome": "injected"})
			close(c.(chan struct{}))
		} else {
			answer(object{"outcome": "promptRequired"})
		}
	case "authenticate":
		f.way.Store(params["methodId"])
		if meta, ok := params["_meta"].(object); ok {
			f.key.Store(meta["api-key"])
		}
		answer(object{})
	case "session/new":
		f.dirs.Store(fmt.Sprint(params["additionalDirectories"]))
		if mode == "login" || mode == "key" && (os.Getenv("FAKE_KEY") != "open" || f.way.Load() != "key") ||
			mode == "handed" && (f.key.Load() != "open" || f.way.Load() != "key") {
			f.write(object{"id": m["id"], "error": object{"code": -32000, "message": "Authentication required"}})
			return
		}
		id := fmt.Sprintf("s-%d-%d", os.Getpid(), f.next.Add(1))
		if mode == "loads" {
			_ = os.WriteFile(filepath.Join(params["cwd"].(string), id+".chat"), nil, 0o600)
		}
		answer(f.made(mode, id))
		f.commands(mode, id)
	case "session/fork":
		id := "fork-of-" + session
		answer(f.made(mode, id))
	case "session/set_mode", "session/set_model", "session/set_config_option":
		f.set(m, params, session)
	case "session/resume":
		answer(f.made(mode, session))
	case "session/load":
		was, err := os.ReadFile(filepath.Join(params["cwd"].(string), session+".chat"))
		if err != nil {
			f.write(object{"id": m["id"], "error": object{"code": -32002, "message": "unknown session"}})
			return
		}
		f.say(session, "replayed: "+string(was))
		answer(nil)
		for range lateReplay { // as Gemini does
			f.say(session, "replayed late")
		}
	case "session/cancel":
		if c, ok := f.cancels.LoadAndDelete(session); ok {
			close(c.(chan struct{}))
		}
	case "session/prompt":
		cancel := make(chan struct{})
		f.cancels.Store(session, cancel)
		go func() {
			stop := f.prompt(mode, session, params["prompt"].([]any), cancel)
			if stop == "locked" {
				f.write(object{"id": m["id"], "error": object{"code": -32000, "message": "Authentication required"}})
				return
			}
			answer(object{"stopReason": stop, "usage": object{"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}})
		}()
	}
}

// prompt follows the last text of the message.
func (f *fakeAct) prompt(mode, session string, blocks []any, cancel chan struct{}) string {
	var texts []string
	for _, b := range blocks {
		if t, ok := b.(object)["text"].(string); ok {
			texts = append(texts, t)
		}
		if uri, ok := b.(object)["uri"].(string); ok {
			texts = append(texts, "link "+uri)
		}
	}
	order, rest, _ := strings.Cut(texts[len(texts)-1], " ")
	if slices.Contains(texts, "blocks") {
		order = "blocks"
	}
	switch order {
	case "text":
		f.update(session, object{"sessionUpdate": "something_new", "what": 1})
		f.update(session, object{"sessionUpdate": "agent_thought_chunk",
			"content": object{"type": "text", "text": "let me think"}})
		f.say(session, "Hello ")
		f.say(session, "you")
	case "mode", "switch", "caps", "title", "form", "openurl", "withdraw", "task", "blocks":
		f.richPrompt(session, order, rest, blocks)
	case "bytes": // from a file that is not UTF-8, passed on unchanged
		f.mu.Lock()
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":%q,\"update\":"+
			"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"a\xfeb\"}}}}\n",
			session)
		f.mu.Unlock()
	case "dirs":
		f.say(session, strings.Trim(f.dirs.Load().(string), "[]"))
	case "stages":
		return f.stages(session)
	case "plan":
		step := func(a, b string) object {
			return object{"sessionUpdate": "plan",
				"entries": []object{{"content": "look", "status": a, "priority": "high"},
					{"content": "write", "status": b, "priority": "low"}}}
		}
		f.update(session, step("in_progress", "pending"))
		f.update(session, object{"sessionUpdate": "tool_call", "toolCallId": "todo", "title": "todowrite",
			"kind": "other", "status": "pending", "rawInput": object{}}) // as opencode does
		f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "todo", "status": "in_progress",
			"rawInput": object{"todos": []object{{"content": "look", "status": "completed"},
				{"content": "write", "status": "in_progress"}}}})
		f.update(session, step("completed", "in_progress"))
		f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "todo", "status": "completed",
			"title": "2 todos", "rawOutput": object{"output": "[]"}})
		f.update(session, step("completed", "completed"))
	case "edit":
		return f.edit(session, rest)
	case "twice":
		ask := object{"sessionId": session, "toolCall": object{"toolCallId": "x", "title": "Look", "kind": "read"},
			"options": []object{{"optionId": "yes", "name": "Yes", "kind": "allow_once"}}}
		first, second := f.send("session/request_permission", ask), f.send("session/request_permission", ask)
		f.say(session, "asked ")
		f.say(session, fmt.Sprint((<-first)["result"], (<-second)["result"]))
	case "read":
		got := f.call("fs/read_text_file", object{"sessionId": session, "path": rest, "line": 2, "limit": 1})
		if e, ok := got["error"].(object); ok {
			f.say(session, "refused: "+e["message"].(string))
		} else {
			f.say(session, "read: "+got["result"].(object)["content"].(string))
		}
	case "run":
		f.terminal(session, rest)
	case "env":
		f.say(session, rest+"="+os.Getenv(rest))
	case "echo":
		f.say(session, strings.Join(texts, " | "))
	case "pid":
		f.say(session, fmt.Sprint(os.Getpid()))
	case "child":
		child := exec.Command("sleep", "1000")
		_ = child.Start()
		f.say(session, fmt.Sprint(child.Process.Pid))
	case "retry": // silent until a file exists, then with a tool until the file is gone
		fmt.Fprint(os.Stderr, "\x1b[31mattempt 1 failed: 529 overloaded\x1b[0m\n    at fetch (/a.js:1:2)\n"+
			"request with Authorization: Bearer abcdef123456\nhttps://ana:hunter22@proxy.example/ refused, "+
			"key sk-ant-0123456789\nattempt 2\n")
		waitForFile(rest, true)
		f.update(session, object{"sessionUpdate": "tool_call", "toolCallId": "slow", "title": "Build", "kind": "other",
			"status": "in_progress"})
		f.say(session, "back")
		waitForFile(rest, false)
	case "locked":
		return "locked"
	case "crash":
		f.say(session, "half of an ans")
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hold":
		f.say(session, "holding")
		<-cancel
		return "cancelled"
	case "deaf":
		f.say(session, "holding")
		select {}
	case "refuse":
		return "refusal"
	case "long":
		f.say(session, "as much as fits")
		return "max_tokens"
	default:
		f.say(session, "got: "+strings.Join(texts, " | "))
	}
	return "end_turn"
}

func waitForFile(path string, there bool) {
	for {
		if _, err := os.Stat(path); (err == nil) == there {
			return
		}
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return // the test is over
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (f *fakeAct) edit(session, path string) string {
	f.update(session, object{"sessionUpdate": "tool_call", "toolCallId": "call/1", "title": "Edit " +
		filepath.Base(path),
		"kind": "edit", "status": "pending",
		"rawInput": object{"file": path}, "locations": []object{{"path": path, "line": 1}},
		"content": []object{{"type": "diff", "path": path, "oldText": "a\nb\n", "newText": "a\nc\nd\n"}}})
	got := f.call("session/request_permission", object{"sessionId": session, "toolCall": object{"toolCallId": "call/1"},
		"options": []object{{"optionId": "no", "name": "No", "kind": "reject_once"},
			{"optionId": "always", "name": "Always", "kind": "allow_always"},
			{"optionId": "yes", "name": "Yes", "kind": "allow_once"}}})
	outcome := got["result"].(object)["outcome"].(object)
	if outcome["outcome"] == "cancelled" {
		return "cancelled"
	}
	if outcome["optionId"] != "yes" && outcome["optionId"] != "always" {
		f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "call/1", "status": "failed"})
		f.say(session, "told "+outcome["optionId"].(string))
		return "end_turn"
	}
	wrote := f.call("fs/write_text_file", object{"sessionId": session, "path": path, "content": "a\nc\nd\n"})
	status := "completed"
	if wrote["error"] != nil {
		status = "failed"
	}
	f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "call/1", "status": status})
	f.say(session, "told "+outcome["optionId"].(string))
	return "end_turn"
}

func (f *fakeAct) terminal(session, command string) {
	f.update(session, object{"sessionUpdate": "tool_call", "toolCallId": "t", "title": command, "kind": "execute",
		"status": "pending", "rawInput": object{"command": command}})
	made := f.call("terminal/create", object{"sessionId": session, "command": command, "outputByteLimit": 1000})
	id := made["result"].(object)["terminalId"]
	f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress",
		"content": []object{{"type": "terminal", "terminalId": id}}})
	exit := f.call("terminal/wait_for_exit", object{"sessionId": session, "terminalId": id})
	out := f.call("terminal/output", object{"sessionId": session, "terminalId": id})
	f.call("terminal/release", object{"sessionId": session, "terminalId": id})
	f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"})
	f.say(session, fmt.Sprintf("exit %v, output %q", exit["result"].(object)["exitCode"],
		strings.TrimSpace(out["result"].(object)["output"].(string))))
}
