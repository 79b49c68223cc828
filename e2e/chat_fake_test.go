package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// chatAgent is a small program that speaks the Agent Client Protocol: it has modes, models, an option and commands, and
// says what it was given. The test binary is it when CHAT_AGENT is set.
type chatAgent struct {
	mu          sync.Mutex
	mode, model string
}

func runChatAgent() {
	a := &chatAgent{mode: "code", model: "small"}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params map[string]any  `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.Method == "" {
			continue
		}
		result := a.answer(m.Method, m.Params)
		if m.ID != nil {
			a.write(map[string]any{"id": m.ID, "result": result})
		}
		if m.Method == "session/new" {
			a.update(map[string]any{"sessionUpdate": "available_commands_update", "availableCommands": []any{
				map[string]any{"name": "review", "description": "Look at a change",
					"input": map[string]any{"hint": "what"}},
				map[string]any{"name": "compact", "description": "Forget most"}}})
		}
	}
}

func (a *chatAgent) write(m map[string]any) {
	m["jsonrpc"] = "2.0"
	raw, _ := json.Marshal(m)
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = os.Stdout.Write(append(raw, '\n'))
}

func (a *chatAgent) update(u map[string]any) {
	a.write(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": "s", "update": u}})
}

func (a *chatAgent) answer(method string, params map[string]any) any {
	switch method {
	case "initialize":
		if _, err := os.Stat(os.Getenv("CHAT_AGENT") + "/broken"); err == nil {
			fmt.Fprintln(os.Stderr, "no licence was found")
			os.Exit(3)
		}
		return map[string]any{"protocolVersion": 1,
			"agentCapabilities": map[string]any{"promptCapabilities": map[string]any{"image": true,
				"embeddedContext": true}}}
	case "session/new":
		return map[string]any{"sessionId": "s",
			"modes": map[string]any{"currentModeId": a.mode, "availableModes": []any{map[string]any{"id": "code",
				"name": "Code"}, map[string]any{"id": "plan", "name": "Plan"}}},
			"models": map[string]any{"currentModelId": a.model,
				"availableModels": []any{map[string]any{"modelId": "small", "name": "Small"},
					map[string]any{"modelId": "large", "name": "Large"}}}}
	case "session/set_mode":
		a.mode, _ = params["modeId"].(string)
	case "session/set_model":
		a.model, _ = params["modelId"].(string)
	case "session/prompt":
		a.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text",
			"text": a.told(params)}})
		return map[string]any{"stopReason": "end_turn"}
	}
	return map[string]any{}
}

// told is what came with a prompt, in words.
func (a *chatAgent) told(params map[string]any) string {
	out := []string{a.mode + " " + a.model}
	blocks, _ := params["prompt"].([]any)
	for _, b := range blocks {
		v, _ := b.(map[string]any)
		switch v["type"] {
		case "text":
			out = append(out, fmt.Sprint(v["text"]))
		case "image":
			out = append(out, fmt.Sprint("image ", v["mimeType"]))
		case "resource":
			r, _ := v["resource"].(map[string]any)
			out = append(out, fmt.Sprint("file ", r["text"]))
		case "resource_link":
			out = append(out, fmt.Sprint("link ", v["name"]))
		}
	}
	return "given: " + strings.Join(out, " | ")
}

// withChatAgent starts a program that hosts it, with a page of its owner; while dir/broken is there it does not start.
func withChatAgent(t *testing.T) (p *Program, b *Browser, ana *Page, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	config := agentConfig(t, "fake", []string{exe}, map[string]string{"CHAT_AGENT": dir})
	p = Start(t, Options{Args: []string{"--owner-name", "Ana", "--config", config}})
	b = OpenBrowser(t)
	ana = b.Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	return p, b, ana, dir
}

// begin opens a session of the default agent.
func begin(p *Program, ana *Page, dir, message string) {
	ana.t.Helper()
	ana.Open(p.URL + "/new")
	ana.Fill("#dir", dir)
	if message != "" {
		ana.Fill("#message", message)
	}
	ana.Click("form[action='/new'] button.main")
	ana.Wait("location.pathname.startsWith('/s/')")
	ana.Live()
}

// focus puts the keyboard into an element.
func focus(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Focus(selector, chromedp.NodeVisible)
}
