package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// askingAgent is a small program for the Agent Client Protocol: it asks for an approval or a
// question in every turn, always with the same ids, prints the answers, and can load its sessions.
// The test binary runs it when ASKING_AGENT names its directory.
type askingAgent struct {
	dir string

	mu      sync.Mutex
	asked   int
	waiting map[string]chan json.RawMessage
}

type askingMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

func runAskingAgent(dir string) {
	a := &askingAgent{dir: dir, waiting: map[string]chan json.RawMessage{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var m askingMessage
		switch {
		case json.Unmarshal(in.Bytes(), &m) != nil:
		case m.Method == "":
			a.mu.Lock()
			answer := a.waiting[string(m.ID)]
			a.mu.Unlock()
			if answer != nil {
				answer <- m.Result
			}
		case m.ID != nil:
			go func() { a.write(map[string]any{"id": m.ID, "result": a.answer(m)}) }()
		}
	}
}

func (a *askingAgent) write(m map[string]any) {
	m["jsonrpc"] = "2.0"
	raw, _ := json.Marshal(m)
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = os.Stdout.Write(append(raw, '\n'))
}

func (a *askingAgent) answer(m askingMessage) any {
	var params struct {
		SessionID string `json:"sessionId"`
		Prompt    []struct{ Text string }
	}
	_ = json.Unmarshal(m.Params, &params)
	switch m.Method {
	case "initialize":
		return map[string]any{"protocolVersion": 1, "agentCapabilities": map[string]any{"loadSession": true}}
	case "session/new":
		made, _ := os.MkdirTemp(a.dir, "session-")
		return map[string]any{"sessionId": filepath.Base(made)}
	case "session/load":
		_ = os.WriteFile(filepath.Join(a.dir, params.SessionID, "loaded"), nil, 0o600)
	case "session/prompt":
		said := a.ask(params.SessionID, params.Prompt[0].Text)
		a.write(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": params.SessionID,
			"update": map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text",
				"text": said}}}})
		return map[string]any{"stopReason": "end_turn"}
	}
	return map[string]any{}
}

// ask asks for an approval, or a question if the prompt says so, and returns the answer in words.
func (a *askingAgent) ask(session, prompt string) string {
	a.mu.Lock()
	a.asked++
	id, answer := fmt.Sprintf(`"ask-%d"`, a.asked), make(chan json.RawMessage, 1)
	a.waiting[id] = answer
	a.mu.Unlock()
	request := map[string]any{"id": json.RawMessage(id), "method": "session/request_permission",
		"params": map[string]any{"sessionId": session,
			"toolCall": map[string]any{"toolCallId": "same", "title": "rm -r build", "kind": "execute",
				"rawInput": map[string]any{"command": "rm -r build"}},
			"options": []any{map[string]any{"optionId": "yes", "name": "Allow", "kind": "allow_once"},
				map[string]any{"optionId": "no", "name": "Reject", "kind": "reject_once"}}}}
	if strings.Contains(prompt, "question") {
		request["method"], request["params"] = "elicitation/create", map[string]any{"sessionId": session,
			"mode": "form", "message": "Which colour?", "requestedSchema": map[string]any{"type": "object",
				"properties": map[string]any{"colour": map[string]any{"type": "string", "title": "Colour"}}}}
	}
	a.write(request)
	return "answered: " + string(<-answer)
}
