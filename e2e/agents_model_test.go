package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// model stands in for a paid one: a server on loopback that speaks as much of OpenAI's chat completions as agents need,
// and answers as the last message asks. What an agent does with the answers is its own.
type model struct {
	URL string

	mu    sync.Mutex
	asked []modelRequest
	hung  chan struct{} // each answer that goes on until somebody stops it
}

type modelRequest struct {
	Messages []modelMessage    `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
}

type modelMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func startModel(t *testing.T) *model {
	m := &model{hung: make(chan struct{}, 16)}
	s := httptest.NewServer(m)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	m.URL = s.URL + "/v1"
	return m
}

// saw tells whether a text was among what an agent sent with its last real question, as the history of a chat is.
func (m *model) saw(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) == 0 {
		return false
	}
	for _, message := range m.asked[len(m.asked)-1].Messages {
		if strings.Contains(string(message.Content), text) {
			return true
		}
	}
	return false
}

// tools are the names of those an agent offered with its last real question.
func (m *model) tools() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) == 0 {
		return ""
	}
	raw, _ := json.Marshal(m.asked[len(m.asked)-1].Tools) // it was JSON a moment ago
	return string(raw)
}

// ServeHTTP answers one question. Orders in the user's text are of the form "write: PATH", "run: COMMAND" and "wait".
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q modelRequest
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&q) != nil || len(q.Messages) == 0 {
		_, _ = w.Write([]byte("{}")) // a list of models, or the like
		return
	}
	a := answer{w: w}
	w.Header().Set("Content-Type", "text/event-stream")
	if len(q.Tools) == 0 { // agents have a small model name their sessions
		a.end("A session under test")
		return
	}
	m.mu.Lock()
	m.asked = append(m.asked, q)
	m.mu.Unlock()
	last := q.Messages[len(q.Messages)-1]
	text := strings.TrimSpace(plain(last.Content))
	switch {
	case last.Role != "user":
		a.end("That is done.")
	case order(text, "write: ") != "":
		a.say("I will write it.")
		a.tool("write", map[string]any{"filePath": order(text, "write: "), "content": "one\ntwo\n"})
	case order(text, "run: ") != "":
		a.tool("bash", map[string]any{"command": order(text, "run: "), "description": "Run the command"})
	case strings.Contains(text, "wait"):
		a.say("I am thinking.")
		m.hung <- struct{}{}
		<-r.Context().Done()
	default:
		a.say("First half, ")
		a.end("second half.")
	}
}

func order(text, verb string) string {
	_, rest, ok := strings.Cut(text, verb)
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// plain is the text of a message, which is a string or a list of parts.
func plain(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // neither: no text
	for _, p := range parts {
		s += p.Text + "\n"
	}
	return s
}

// answer writes the chunks of one streamed completion.
type answer struct{ w http.ResponseWriter }

func (a answer) chunk(delta map[string]any, finish any) {
	c := map[string]any{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
	if finish != nil {
		c["usage"] = map[string]any{"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234}
	}
	raw, _ := json.Marshal(c) // maps of strings and numbers always encode
	fmt.Fprintf(a.w, "data: %s\n\n", raw)
	a.w.(http.Flusher).Flush()
}

func (a answer) say(text string) { a.chunk(map[string]any{"role": "assistant", "content": text}, nil) }

func (a answer) end(text string) {
	a.say(text)
	a.done("stop")
}

func (a answer) tool(name string, input map[string]any) {
	raw, _ := json.Marshal(input)
	a.chunk(map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0, "id": "call-" + name, "type": "function",
		"function": map[string]any{"name": name, "arguments": string(raw)}}}}, nil)
	a.done("tool_calls")
}

func (a answer) done(reason string) {
	a.chunk(map[string]any{}, reason)
	fmt.Fprint(a.w, "data: [DONE]\n\n")
}
