package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

func TestEnvironment(t *testing.T) {
	prog := Program{Env: map[string]string{"MODE": "fast", "HOME": "/elsewhere"}, Pass: []string{"MY_*", "ONE"}}
	got := environment([]string{"HOME=/home", "PATH=/bin", "LC_ALL=C", "AHPHUB_TOKEN=x", "MY_KEY=k", "ONE=1",
		"ONE_MORE=2", "MODE=slow"}, prog, "/opt")
	want := []string{"HOME=/elsewhere", "LC_ALL=C", "MODE=fast", "MY_KEY=k", "ONE=1", "PATH=/bin:/opt"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	passed := addPassed([]string{"HOME=/home", "AHPHUB_TOKEN=x", "MY_KEY=k", "SET=1"}, prog, []string{"SET=2"})
	if want := []string{"MY_KEY=k", "SET=2"}; !slices.Equal(passed, want) {
		t.Errorf("a command sees %v besides the usual variables, want %v", passed, want)
	}
}

func TestChoose(t *testing.T) {
	list := []permissionOption{{"n!", "", "reject_always"}, {"y!", "", "allow_always"}, {"y", "", "allow_once"},
		{"n", "", "reject_once"}}
	for _, test := range []struct {
		name string
		list []permissionOption
		a    *ahp.ChatToolCallConfirmedAction
		want string
	}{
		{"yes binds least", list, &ahp.ChatToolCallConfirmedAction{Approved: true}, "y"},
		{"no binds least", list, &ahp.ChatToolCallConfirmedAction{}, "n"},
		{"picked", list, &ahp.ChatToolCallConfirmedAction{Approved: true, SelectedOptionID: "y!"}, "y!"},
		{"picked against the answer", list, &ahp.ChatToolCallConfirmedAction{SelectedOptionID: "y!"}, "n"},
		{"nobody", list, nil, "n"},
		{"only for ever", list[:2], &ahp.ChatToolCallConfirmedAction{}, "n!"},
		{"no such option", list[:1], &ahp.ChatToolCallConfirmedAction{Approved: true}, ""},
	} {
		if got := choose(test.list, test.a).Outcome.OptionID; got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestExcerpt(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, test := range []struct {
		line, limit *int
		want        string
	}{
		{nil, nil, "a\nb\nc"}, {n(2), nil, "b\nc"}, {nil, n(1), "a\n"}, {n(2), n(1), "b\n"}, {n(9), n(9), ""},
		{n(0), n(-1), ""},
	} {
		if got := excerpt("a\nb\nc", test.line, test.limit); got != test.want {
			t.Errorf("%v %v: %q", test.line, test.limit, got)
		}
	}
}

func TestCommands(t *testing.T) {
	for want, q := range map[string]terminalParams{
		"ls":                     {Command: "ls"},
		"git status":             {Command: "git", Args: []string{"status"}},
		"bash -c npm test && ls": {Command: "npm test && ls"},
	} {
		if got := strings.Join(commandOf(q), " "); got != want {
			t.Errorf("%q became %q", want, got)
		}
	}
}

// A program's memory is used only if the chat is unchanged since its last prompt.
func TestContinues(t *testing.T) {
	turn := func(id string, before ...string) agent.Turn {
		t := agent.Turn{ID: id}
		for _, b := range before {
			t.History = append(t.History, &ahp.Turn{ID: b})
		}
		return t
	}
	was := chat{Session: "s", Turn: "2"}
	for name, test := range map[string]struct {
		turn agent.Turn
		want bool
	}{
		"next": {turn("3", "1", "2"), true}, "resumed": {turn("2", "1"), true},
		"cut": {turn("3", "1"), false}, "emptied": {turn("3"), false},
	} {
		if was.continues(test.turn) != test.want {
			t.Errorf("%s: %v", name, !test.want)
		}
	}
}

// The host's own servers are passed as HTTP servers if the program supports that, else as programs.
func TestServers(t *testing.T) {
	list := []agent.MCPServer{{Name: "review", URL: "http://127.0.0.1:1/mcp",
		Headers: map[string]string{"Authorization": "Bearer t"},
		Command: []string{"/bin/ahphub", "mcp"}, Env: []string{"TOKEN=a=b"}}}
	for http, want := range map[bool]string{
		true:  `[{"type":"http","name":"review","url":"http://127.0.0.1:1/mcp","headers":[{"name":"Authorization","value":"Bearer t"}]}]`,
		false: `[{"name":"review","command":"/bin/ahphub","args":["mcp"],"env":[{"name":"TOKEN","value":"a=b"}]}]`,
	} {
		if raw, err := json.Marshal(servers(list, http)); string(raw) != want || err != nil {
			t.Errorf("got %s (%v)", raw, err)
		}
	}
	if raw, _ := json.Marshal(sessionParams{Cwd: "/", McpServers: servers(nil, true)}); string(
		raw) != `{"cwd":"/","mcpServers":[]}` {
		t.Errorf("without servers: %s", raw)
	}
}

func TestUnified(t *testing.T) {
	if got := unified("f", "a\nb\nc\n", "a\nB\nB2\nc\n"); got != "--- f\n+++ f\n-b\n+B\n+B2" {
		t.Errorf("got %q", got)
	}
	if got := unified("f", "", strings.Repeat("x\n", 1000)); strings.Count(got, "\n") > 101 ||
		!strings.HasSuffix(got, "…") {
		t.Errorf("a long one has %d lines", strings.Count(got, "\n"))
	}
}

func TestNameOfPath(t *testing.T) {
	r := &player{s: &session{dir: "/w"}}
	for _, title := range []string{"/w/a.txt", "w/a.txt"} {
		if got := r.name(&call{title: title, kind: "edit",
			locations: []location{{Path: "/w/a.txt"}}}); got != "Edit `a.txt`" {
			t.Errorf("got %q", got)
		}
	}
}
