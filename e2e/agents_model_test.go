package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// model replaces paid models: a server on loopback that supports as much of three providers'
// protocols as agents need (agents_speech_test.go), and answers according to the last message. The
// agents themselves are real.
type model struct {
	URL string

	mu    sync.Mutex
	asked []question
	hung  chan struct{} // each answer that continues until it is stopped
}

// question is an agent's request to the model.
type question struct {
	model  string
	raw    string   // its messages, unparsed
	count  int      // number of messages
	text   string   // of the last message
	result string   // the tool of the last result, "" for a person's message
	tools  []string // callable tools
}

func startModel(t *testing.T) *model {
	m := &model{hung: make(chan struct{}, 16)}
	s := httptest.NewServer(m)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	m.URL = s.URL
	return m
}

// last returns the newest real question.
func (m *model) last() question {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) == 0 {
		return question{}
	}
	return m.asked[len(m.asked)-1]
}

// saw reports whether an agent's last real question contains a text, such as the history of a chat.
func (m *model) saw(text string) bool { return strings.Contains(m.last().raw, text) }

// ServeHTTP answers one question.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	q, out := read(r.URL.Path, body, w)
	if out == nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}")) // a list of models, or similar
		return
	}
	if len(q.tools) == 0 { // agents have a small model name their sessions
		out.say("A session under test")
		out.end()
		return
	}
	m.mu.Lock()
	m.asked = append(m.asked, q)
	m.mu.Unlock()
	if m.answer(q, out); q.result == "" && waits.MatchString(q.text) {
		m.hung <- struct{}{}
		<-r.Context().Done()
	}
}

// Orders are at the start of a line, because agents add their own text.
var (
	waits  = regexp.MustCompile(`(?m)^wait\b`)
	orders = regexp.MustCompile(`(?m)^(write|run|call): (.*)$`)
)

var commentID = regexp.MustCompile(`id ([^\s:]+): `)

// answer does what the last message orders: "write: PATH", "run: COMMAND", "call: TOOL INPUT" or
// "wait". It reads, answers and resolves a review's comments with the host's tools.
func (m *model) answer(q question, out speech) {
	verb, rest := "", ""
	if o := orders.FindStringSubmatch(q.text); o != nil {
		verb, rest = o[1], o[2]
	}
	switch {
	case strings.HasSuffix(q.result, "list_comments"):
		if id := commentID.FindStringSubmatch(q.text); id != nil {
			out.call(q.tool("reply_to_comment"), map[string]any{"id": id[1], "text": "It greets the **world** now."})
			return
		}
	case strings.HasSuffix(q.result, "reply_to_comment"):
		if id := commentID.FindStringSubmatch(q.raw); id != nil {
			out.call(q.tool("resolve_comment"), map[string]any{"id": id[1]})
			return
		}
	case q.result != "":
	case strings.Contains(q.text, "who looked at the changes"):
		out.call(q.tool("list_comments"), map[string]any{})
		return
	case verb == "write":
		out.say("I will write it.")
		name := q.tool("write", "Write", "write_file")
		out.call(name, map[string]any{map[bool]string{true: "filePath", false: "file_path"}[name == "write"]: rest,
			"content": "one\ntwo\n"})
		return
	case verb == "run":
		out.call(q.tool("bash", "Bash", "run_shell_command"), map[string]any{"command": rest,
			"description": "Run the command"})
		return
	case verb == "call":
		name, input, _ := strings.Cut(rest, " ")
		out.call(q.tool(name), json.RawMessage(input))
		return
	case waits.MatchString(q.text):
		out.say("I am thinking.")
		return
	default:
		out.say("First half, ")
		out.say("second half.")
		out.end()
		return
	}
	out.say("That is done.")
	out.end()
}

// tool returns the agent's name for a tool: tools of other servers have a prefix.
func (q question) tool(names ...string) string {
	for _, t := range q.tools {
		if slices.ContainsFunc(names, func(n string) bool { return t == n || strings.HasSuffix(t, "_"+n) }) {
			return t
		}
	}
	return names[0]
}
