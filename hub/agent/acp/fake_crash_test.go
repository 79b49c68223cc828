package acp_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// crash kills the fake agent the first time it reaches the stage that FAKE_CRASH names
// ("stage:file"). It writes to the file the processes that it left: itself, and one that it
// started.
func crash(stage string) {
	at, file, _ := strings.Cut(os.Getenv("FAKE_CRASH"), ":")
	if _, err := os.Stat(file); at != stage || err == nil {
		return
	}
	child := exec.Command("sleep", "1000")
	_ = child.Start()
	_ = os.WriteFile(file, fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600)
	fmt.Fprintln(os.Stderr, "panic: at "+stage)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// stages gives an answer with every stage at which the agent can crash.
func (f *fakeAct) stages(session string) string {
	f.say(session, "half of an ans")
	crash("text")
	call := object{"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look", "kind": "read",
		"status": "in_progress"}
	f.update(session, call)
	crash("call")
	f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"})
	asked := f.send("session/request_permission",
		object{"sessionId": session, "toolCall": object{"toolCallId": "d", "title": "Write", "kind": "edit"},
			"options": []object{{"optionId": "yes", "name": "Yes", "kind": "allow_once"}}})
	crash("ask")
	<-asked
	crash("answered")
	f.update(session, object{"sessionUpdate": "tool_call_update", "toolCallId": "d", "status": "completed"})
	form := f.send("elicitation/create", object{"sessionId": session, "mode": "form", "message": "A name?",
		"requestedSchema": object{"type": "object", "properties": object{"name": object{"type": "string"}}}})
	crash("form")
	<-form
	made := f.call("terminal/create", object{"sessionId": session, "command": "sleep 1000"})
	crash("terminal")
	f.call("terminal/kill", object{"sessionId": session, "terminalId": made["result"].(object)["terminalId"]})
	f.say(session, "the rest")
	return "end_turn"
}
