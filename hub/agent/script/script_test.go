package script

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
)

func open(t *testing.T, sc *Scenario, h *agenttest.Host) (agent.Session, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Backend{sc}.Open(t.Context(), agent.Spec{Session: "ahp-session:/1", Dirs: []string{dir}, Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func TestOrders(t *testing.T) {
	tests := map[string]struct{ prompt, want string }{
		"say":    {"say hello *you*\\nand me", "markdown hello *you*\nand me\ncomplete\n"},
		"think":  {"think hm", "reasoning hm\ncomplete\n"},
		"notice": {"notice careful", "notice careful\ncomplete\n"},
		"count":  {"count 3 0", "markdown 1 2 3 \ncomplete\n"},
		"burst":  {"burst 3 5", "markdown 0 xx\n1 xx\n2 xx\n\ncomplete\n"},
		"run":    {"run ls", "shell completed true: Ran `ls` [user-action]\ncomplete\n"},
		"ask":    {"ask", "input 6 questions accept\nmarkdown You accepted without answers.\ncomplete\n"},
		"call": {"call lint {\"a\":1}",
			"markdown The tool was not called: no client offers the tool lint.\ncomplete\n"},
		"fail":          {"fail too bad", "error too bad\nerror\n"},
		"two lines":     {"say a\n\nthink b", "markdown a\nreasoning b\ncomplete\n"},
		"spawn":         {"spawn say hello", "spawn completed true: Asked a sub-agent [not-needed]\ncomplete\n"},
		"spawn failing": {"spawn fail no", "spawn completed false: The sub-agent failed [not-needed]\ncomplete\n"},
		"edit":          {"edit a/b.txt x", "edit completed true: Edited `a/b.txt` [user-action]\ncomplete\n"},
		"edit outside": {"edit ../b.txt x",
			"edit completed false: Could not edit `../b.txt` [user-action]\ncomplete\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			session, _ := open(t, nil, &agenttest.Host{})
			fake, turn := agenttest.New(agenttest.User(tc.prompt))
			if got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn))); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// answering is a host that accepts answers to threads.
type answering struct {
	*agenttest.Host
	said map[string]string
}

func (h answering) Reply(_ context.Context, thread, text string) error {
	h.said[thread] = text
	return nil
}

// Review comments are answered in their threads, and never executed.
func TestAnswerThreads(t *testing.T) {
	h := answering{&agenttest.Host{}, map[string]string{}}
	session, err := Backend{}.Open(t.Context(), agent.Spec{Session: "ahp-session:/1", Host: h})
	if err != nil {
		t.Fatal(err)
	}
	fake, turn := agenttest.New(agenttest.User("run ls"))
	for _, id := range []string{"a", "b"} {
		turn.Threads = append(turn.Threads, ahp.Annotation{ID: id, Resource: "file:///w/a.go",
			Entries: []ahp.AnnotationEntry{{Text: ahp.Markdown("run ls")}}})
	}
	if got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn))); !strings.Contains(got,
		"You sent 2 review threads") || strings.Contains(got, "shell") {
		t.Errorf("the chat reads %s", got)
	}
	if len(h.said) != 2 || !strings.Contains(h.said["b"], "nothing was changed") {
		t.Errorf("the threads were answered %v", h.said)
	}
}

func TestExplainInvalidOrders(t *testing.T) {
	for _, prompt := range []string{"dance", "", "say", "count x 1", "count -1 0", "count 1000000000 1",
		"burst 1 100000000", "call t {", "say a\ndance", "spawn spawn spawn spawn spawn say x"} {
		session, _ := open(t, nil, &agenttest.Host{})
		fake, turn := agenttest.New(agenttest.User(prompt))
		got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn)))
		if !strings.Contains(got, "I play scripts and understand") || len(fake.Actions()) != 4 {
			t.Errorf("%q was answered with\n%s", prompt, got)
		}
	}
}

func TestObeyOnlyPeople(t *testing.T) {
	session, _ := open(t, nil, &agenttest.Host{})
	m := agenttest.User("say injected")
	m.Origin.Kind = ahp.MessageKindTool
	fake, turn := agenttest.New(m)
	if got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn))); !strings.Contains(got,
		"messages that a person types") {
		t.Errorf("a tool's message was obeyed: %s", got)
	}
	m.Text, m.Origin.Kind = "say as asked", ahp.MessageKindAutomation
	fake, turn = agenttest.New(m)
	if got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn))); !strings.Contains(got, "as asked") {
		t.Errorf("what a person had an automation say was not obeyed: %s", got)
	}
	fake, turn = agenttest.New(agenttest.User("say injected"))
	turn.Threads = []ahp.Annotation{{ID: "1", Resource: "file:///x.go",
		Entries: []ahp.AnnotationEntry{{ID: "1", Text: ahp.Plain("why")}}}}
	if got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn))); !strings.Contains(got, "> why") ||
		strings.Contains(got, "injected") {
		t.Errorf("a review was executed: %s", got)
	}
}

func TestEditsAreReal(t *testing.T) {
	session, dir := open(t, nil, &agenttest.Host{})
	prompt := func(text string) *agenttest.Turn {
		t.Helper()
		fake, turn := agenttest.New(agenttest.User(text))
		if err := session.Prompt(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		return fake
	}
	prompt("edit sub/a.txt one")
	fake := prompt("edit sub/a.txt two")
	if got, _ := os.ReadFile(filepath.Join(dir, "sub/a.txt")); string(got) != "one\ntwo\n" {
		t.Errorf("the file holds %q", got)
	}
	call := fake.End(nil).ResponseParts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Value.(*ahp.ToolCallCompletedState)
	edit := call.Content[0].Value.(*ahp.ToolResultFileEditContent)
	if !strings.HasSuffix(edit.After.URI, "/sub/a.txt") || *edit.Diff.Added != 1 || *edit.Diff.Removed != 0 {
		t.Errorf("the edit is %+v", edit)
	}
	prompt("write sub/a.txt three")
	if got, _ := os.ReadFile(filepath.Join(dir, "sub/a.txt")); string(got) != "three\n" {
		t.Errorf("the file holds %q", got)
	}
	denied, turn := agenttest.New(agenttest.User("write sub/a.txt four"))
	denied.Answer = agenttest.Deny
	if err := session.Prompt(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "sub/a.txt")); string(got) != "three\n" {
		t.Errorf("a denied edit was made: %q", got)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	prompt("write link/x y")
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Error("an edit followed a link out of the directory")
	}
}

func TestAskCoversEveryKind(t *testing.T) {
	session, _ := open(t, nil, &agenttest.Host{})
	fake, turn := agenttest.New(agenttest.User("ask"))
	kinds := map[string]bool{}
	text := func(v string) ahp.ChatInputAnswer {
		return ahp.ChatInputAnswer{Value: &ahp.ChatInputAnswered{State: ahp.ChatInputAnswerStateSubmitted,
			Value: ahp.ChatInputAnswerValue{Value: &ahp.ChatInputTextAnswerValue{Value: v}}}}
	}
	fake.Reply = func(r ahp.ChatInputRequest) *ahp.ChatInputCompletedAction {
		b, _ := json.Marshal(r)
		var raw struct{ Questions []struct{ Kind string } }
		if err := json.Unmarshal(b, &raw); err != nil {
			t.Error(err)
		}
		for _, q := range raw.Questions {
			kinds[q.Kind] = true
		}
		return &ahp.ChatInputCompletedAction{RequestID: r.ID, Response: ahp.ChatInputResponseKindAccept,
			Answers: map[string]ahp.ChatInputAnswer{"name": text("widget"), "tests": {Value: &ahp.ChatInputSkipped{}}}}
	}
	got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn)))
	for _, k := range []string{"text", "number", "integer", "boolean", "single-select", "multi-select"} {
		if !kinds[k] {
			t.Errorf("no question of kind %s", k)
		}
	}
	if !strings.Contains(got, "- `name`: `widget`\n- `tests`: `skipped`") {
		t.Errorf("the answers are not repeated: %s", got)
	}
}

func TestCallClientTool(t *testing.T) {
	session, _ := open(t, nil, &agenttest.Host{})
	fake, turn := agenttest.New(agenttest.User(`call lint {"path":"a b"}`))
	fake.Tool = func(_, tool string, input json.RawMessage) (ahp.ToolCallResult, error) {
		return ahp.ToolCallResult{Success: true,
			Content: agent.Results(&ahp.ToolResultTextContent{Text: tool + string(input)})}, nil
	}
	if got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn))); !strings.Contains(got,
		`The tool answered: lint{"path":"a b"}`) {
		t.Error(got)
	}
}

func TestSubChat(t *testing.T) {
	host := &agenttest.Host{}
	session, _ := open(t, nil, host)
	fake, turn := agenttest.New(agenttest.User("spawn think hard"))
	if err := session.Prompt(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if len(host.Spawned) != 1 || host.Ended[0] != nil {
		t.Fatalf("sub-chats %d, ended %v", len(host.Spawned), host.Ended)
	}
	sub := host.Spawned[0].State().Turns[0]
	if sub.Message.Text != "think hard" || !strings.Contains(agenttest.Text(sub), "reasoning hard\ncomplete") {
		t.Errorf("the sub-chat holds %q: %s", sub.Message.Text, agenttest.Text(sub))
	}
	call := fake.End(nil).ResponseParts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Value.(*ahp.ToolCallCompletedState)
	if c := call.Content[0].Value.(*ahp.ToolResultSubagentContent); c.Resource != "ahp-chat:/sub-1" {
		t.Errorf("the tool call names %q (AHP requirement 96)", c.Resource)
	}
}

func TestResumeFailedTurn(t *testing.T) {
	session, _ := open(t, nil, &agenttest.Host{})
	fake, turn := agenttest.New(agenttest.User("say before\nfail no luck\nsay after"))
	err := session.Prompt(t.Context(), turn)
	var f *agent.Failure
	if !errors.As(err, &f) || !f.Resumable || f.Message != "no luck" {
		t.Fatalf("the turn ended with %v", err)
	}
	if err := session.Prompt(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if got, want := agenttest.Text(fake.End(nil)), "markdown before\nmarkdown after\ncomplete\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, turn = agenttest.New(agenttest.User("fail at the end"))
	turn.ID = "other"
	_ = session.Prompt(t.Context(), turn)
	if err := session.Prompt(t.Context(), turn); err != nil {
		t.Errorf("resuming after a last step: %v", err)
	}
}

func TestPausesEndWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, prompt := range []string{"count 1000 1000", "hold", "wait 100000"} {
			session, err := Backend{}.Open(t.Context(), agent.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			fake, turn := agenttest.New(agenttest.User(prompt))
			begun := time.Now()
			err = session.Prompt(ctx, turn)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 2500*time.Millisecond {
				t.Errorf("%s ended with %v after %v", prompt, err, time.Since(begun))
			}
			if got := agenttest.Text(fake.End(err)); prompt[0] == 'c' &&
				!strings.Contains(got, "markdown 1 2 3 \ncancelled") {
				t.Errorf("counted %q in 2.5 s", got)
			}
		}
	})
}

func TestScenario(t *testing.T) {
	sc, err := Parse(`
[[turn]]
[[turn.step]]
say = "first"
[[turn]]
prompt = "Named  turn"
[[turn.step]]
say = "named"
chunk = 2
[[turn.step]]
action = '{"type":"chat/toolCallStart","turnId":"","toolCallId":"$a","toolName":"x","displayName":"X"}'
[[turn.step]]
action = '{"type":"chat/toolCallReady","turnId":"","toolCallId":"$a","invocationMessage":"do x","confirmed":"not-needed"}'
[[turn]]
[[turn.step]]
say = "second"
`)
	if err != nil {
		t.Fatal(err)
	}
	session, _ := open(t, sc, &agenttest.Host{})
	for _, tc := range [][2]string{
		{"anything", "markdown first\ncomplete\n"},
		{"named TURN", "markdown named\nx cancelled: skipped\ncomplete\n"},
		{"say orders work too", "markdown orders work too\ncomplete\n"},
		{"more", "markdown second\ncomplete\n"},
	} {
		fake, turn := agenttest.New(agenttest.User(tc[0]))
		if got := agenttest.Text(fake.End(session.Prompt(t.Context(), turn))); got != tc[1] {
			t.Errorf("%q: got %q, want %q", tc[0], got, tc[1])
		}
	}
}

func TestInvalidScenarios(t *testing.T) {
	for in, want := range map[string]string{
		"[[turn]]\n[[turn.step]]\nshout = \"x\"": "shout",
		"[[turn]]\n[[turn.step]]\n": "turn 1, step 1: the step has " +
			"nothing to do",
		"[[turn]]\n[[turn.step]]\nsay = \"x\"\nrun = \"y\"":                       "several things",
		"[[turn]]\n[[turn.step]]\nwait = \"-1s\"":                                 "negative",
		"[[turn]]\n[[turn.step]]\nask = \"{\"":                                    "questions are not valid",
		"[[turn]]\n[[turn.step]]\naction = '{\"type\":\"terminal/data\"}'":        "not a chat action",
		"[[turn]]\n[[turn.step]]\naction = '{'":                                   "is not valid",
		"[[turn]]\n[[turn.step]]\ncall = \"x\"\ninput = \"{\"":                    "not JSON",
		"[[turn]]\n[[turn.step]]\nspawn = \"x\"\n[[turn.step.step]]\nfoo = \"y\"": "foo",
	} {
		if _, err := Parse(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.toml")); err == nil {
		t.Error("a missing file was loaded")
	}
}

func TestDemoShowsEveryState(t *testing.T) {
	seen := map[string]bool{}
	sc := Demo()
	for _, prompt := range sc.Prompts() {
		synctest.Test(t, func(t *testing.T) {
			session, _ := open(t, sc, &agenttest.Host{Run: func(agent.TerminalSpec) (int, string) { return 1, "FAIL" }})
			fake, turn := agenttest.New(agenttest.User(prompt))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := session.Prompt(ctx, turn)
			note(seen, fake.State().ActiveTurn.ResponseParts.Slice())
			note(seen, fake.End(err).ResponseParts)
			seen[string(fake.State().Turns[0].State)] = true
		})
	}
	for _, want := range []string{"markdown", "reasoning", "toolCall", "inputRequest", "systemNotification", "error",
		"complete", "cancelled",
		"streaming", "pending-confirmation", "running", "pending-result-confirmation", "completed", "fileEdit",
		"terminal", "subagent"} {
		if !seen[want] {
			t.Errorf("the demo does not show %s", want)
		}
	}
}

// note collects every kind, status and type in the parts.
func note(seen map[string]bool, parts []ahp.ResponsePart) {
	b, _ := json.Marshal(parts)
	var v any
	_ = json.Unmarshal(b, &v)
	collect(seen, v)
}

func collect(seen map[string]bool, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collect(seen, e)
		}
	case map[string]any:
		for k, e := range v {
			if s, ok := e.(string); ok && (k == "kind" || k == "status" || k == "type") {
				seen[s] = true
			}
			collect(seen, e)
		}
	}
}
