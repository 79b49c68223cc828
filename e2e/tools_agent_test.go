package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolAgent is the test binary as an agent: it implements just enough of the Agent Client Protocol
// to get the host's tools, connects to them like real agents (by the transport in mode), and calls
// what a message names: "call TOOL {json}", or "tools".
type toolAgent struct {
	mode string

	mu    sync.Mutex // of standard output
	tools *mcp.ClientSession
}

func runToolAgent(mode string) {
	a := &toolAgent{mode: mode}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		go func() {
			result, err := a.answer(m.Method, m.Params)
			if err != nil {
				a.write(map[string]any{"id": m.ID, "error": map[string]any{"code": -32603, "message": err.Error()}})
				return
			}
			a.write(map[string]any{"id": m.ID, "result": result})
		}()
	}
}

func (a *toolAgent) write(m map[string]any) {
	m["jsonrpc"] = "2.0"
	raw, _ := json.Marshal(m)
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Printf("%s\n", raw)
}

func (a *toolAgent) answer(method string, params json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		return map[string]any{"protocolVersion": 1,
			"agentCapabilities": map[string]any{"mcpCapabilities": map[string]any{"http": a.mode == "http"}}}, nil
	case "session/new":
		return map[string]any{"sessionId": "1"}, a.connect(params)
	case "session/prompt":
		text := a.play(promptOf(params))
		a.write(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": "1",
			"update": map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text",
				"text": text}}}})
		return map[string]any{"stopReason": "end_turn"}, nil
	}
	return map[string]any{}, nil
}

// connect connects to the host's server, or to the one in its environment, once it is known.
func (a *toolAgent) connect(params json.RawMessage) error {
	type pair struct{ Name, Value string }
	var p struct {
		McpServers []struct {
			Name, Type, URL, Command string
			Headers, Env             []pair
			Args                     []string
		}
	}
	if err := json.Unmarshal(params, &p); err != nil || len(p.McpServers) == 0 {
		return fmt.Errorf("the servers are %s: %v", params, err)
	}
	s := p.McpServers[0]
	for _, other := range p.McpServers[1:] {
		if other.Name == os.Getenv("TOOL_AGENT_SERVER") {
			s = other
		}
	}
	var transport mcp.Transport
	if a.mode == "http" {
		transport = &mcp.StreamableClientTransport{Endpoint: s.URL,
			HTTPClient: &http.Client{Transport: headed{s.Headers[0].Name, s.Headers[0].Value}}}
	} else {
		cmd := exec.Command(s.Command, s.Args...)
		for _, e := range s.Env {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	}
	// so that the test knows the token
	if err := os.WriteFile(os.Getenv("TOOL_AGENT_NOTE"), params, 0o600); err != nil {
		return err
	}
	var err error
	a.tools, err = mcp.NewClient(&mcp.Implementation{Name: "tool-agent", Version: "1"},
		nil).Connect(context.Background(), transport, nil)
	return err
}

type headed struct{ name, value string }

func (h headed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}

func promptOf(params json.RawMessage) string {
	var p struct{ Prompt []struct{ Text string } }
	if json.Unmarshal(params, &p) != nil || len(p.Prompt) == 0 {
		return ""
	}
	return p.Prompt[len(p.Prompt)-1].Text
}

func (a *toolAgent) play(order string) string {
	ctx := context.Background()
	if order == "tools" {
		var names []string
		for t, err := range a.tools.Tools(ctx, nil) {
			if err != nil {
				return err.Error()
			}
			names = append(names, t.Name)
		}
		return strings.Join(names, " ")
	}
	_, call, _ := strings.Cut(order, "call ")
	name, input, _ := strings.Cut(call, " ")
	res, err := a.tools.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(input)})
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("failed %t: ", res.IsError)
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text
}
