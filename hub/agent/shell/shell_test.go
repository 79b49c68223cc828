package shell

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
)

func open(t *testing.T, h *agenttest.Host) agent.Session {
	t.Helper()
	s, err := Backend{}.Open(t.Context(), agent.Spec{Session: "ahp-session:/1", Dirs: []string{"/project"}, Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestPrompt(t *testing.T) { // AHP requirement 125, where a command is edited
	edit := func(a *ahp.ChatToolCallReadyAction) *ahp.ChatToolCallConfirmedAction {
		c := agenttest.Approve(a)
		c.EditedToolInput = "ls -l"
		return c
	}
	tests := map[string]struct {
		message string
		answer  func(*ahp.ChatToolCallReadyAction) *ahp.ChatToolCallConfirmedAction
		code    int
		ran     string
		want    string
	}{
		"approved": {"  ls\n", nil, 0, "ls", "shell completed true: Ran `ls` [user-action]\ncomplete\n"},
		"a script": {"cd x\nls", nil, 0, "cd x\nls", "shell completed true: Ran `cd x …` [user-action]\ncomplete\n"},
		"it fails": {"false", nil, 1, "false",
			"shell completed false: `false` exited with 1 [user-action]\ncomplete\n"},
		"edited": {"ls", edit, 0, "ls -l", "shell completed true: Ran `ls -l` [user-action]\ncomplete\n"},
		"denied": {"ls", agenttest.Deny, 0, "",
			"shell cancelled: denied\nmarkdown The command was denied and did not run.\ncomplete\n"},
		"ticks": {"echo `date`", nil, 0, "echo `date`",
			"shell completed true: Ran `` echo `date` `` [user-action]\ncomplete\n"},
		"nothing": {" \n", nil, 0, "", "markdown Type a command to run, `ls` for example.\ncomplete\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			host := &agenttest.Host{Run: func(agent.TerminalSpec) (int, string) { return tc.code, "out\n" }}
			fake, turn := agenttest.New(agenttest.User(tc.message))
			fake.Answer = tc.answer
			err := open(t, host).Prompt(t.Context(), turn)
			if got := agenttest.Text(fake.End(err)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
			ran := ""
			for _, s := range host.Ran {
				ran += s.Command[2]
				if s.Dir != "/project" || s.TurnID != turn.ID || s.ToolCallID == "" || s.Chat != turn.Chat {
					t.Errorf("the terminal's spec is %+v", s)
				}
			}
			if ran != tc.ran {
				t.Errorf("ran %q, want %q", ran, tc.ran)
			}
		})
	}
}

func TestApprovalNamesCommand(t *testing.T) {
	fake, turn := agenttest.New(agenttest.User("make test"))
	var ready *ahp.ChatToolCallReadyAction
	fake.Answer = func(a *ahp.ChatToolCallReadyAction) *ahp.ChatToolCallConfirmedAction {
		ready = a
		return agenttest.Approve(a)
	}
	if err := open(t, &agenttest.Host{}).Prompt(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if ready.InvocationMessage.Text != "Run `make test`" || ready.ToolInput.Text != "make test" || !*ready.Editable ||
		ready.ConfirmationTitle == nil {
		t.Errorf("readiness %+v", ready)
	}
	if o := ready.Options; len(o) != 2 || o[0].Kind != ahp.ConfirmationOptionKindApprove ||
		o[1].Kind != ahp.ConfirmationOptionKindDeny {
		t.Errorf("options %+v", o)
	}
}

func TestTerminalIsShownAndKept(t *testing.T) {
	long := strings.Repeat("0123456789\n", 1000)
	host := &agenttest.Host{Run: func(agent.TerminalSpec) (int, string) { return 2, long }}
	fake, turn := agenttest.New(agenttest.User("make"))
	if err := open(t, host).Prompt(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, a := range fake.Actions() {
		order = append(order, strings.TrimPrefix(a.ActionType(), "chat/"))
	}
	if got, want := strings.Join(order, " "),
		"turnStarted toolCallStart toolCallReady toolCallConfirmed toolCallContentChanged toolCallComplete"; got != want {
		t.Errorf("order\n%s, want\n%s (AHP requirement 121)", got, want)
	}
	parts := fake.End(nil).ResponseParts
	call := parts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Value.(*ahp.ToolCallCompletedState)
	content := call.Content[0].Value.(*ahp.ToolResultTerminalContent)
	if content.Resource != "ahp-terminal:/1" || !*content.IsPty || *content.Result.ExitCode != 2 ||
		!*content.Result.Truncated {
		t.Errorf("content %+v", content)
	}
	if p := content.Result.Preview; !strings.HasPrefix(p, "0123456789\n") || len(p) > 4096 ||
		!strings.HasSuffix(long, p) {
		t.Errorf("the preview is not the end of the output: %d bytes", len(p))
	}
}

func TestCancelKillsTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := &agenttest.Host{Run: func(agent.TerminalSpec) (int, string) {
		cancel()
		return agenttest.Forever, ""
	}}
	fake, turn := agenttest.New(agenttest.User("sleep 1000"))
	err := open(t, host).Prompt(ctx, turn)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the turn ended with %v", err)
	}
	if len(host.Ran) != 1 || host.Killed != 1 {
		t.Errorf("started %d commands, killed %d", len(host.Ran), host.Killed)
	}
	if got := agenttest.Text(fake.End(err)); got != "shell cancelled: skipped\ncancelled\n" {
		t.Errorf("the chat shows %q", got)
	}
}

func TestBackgroundCommand(t *testing.T) {
	tests := map[string]struct {
		message string
		moved   bool
		ran     string
	}{
		"asked for":         {"npm run dev &", false, "npm run dev"},
		"moved":             {"npm run dev", true, "npm run dev"},
		"a list is a list":  {"true && npm run dev &", false, "true && npm run dev"},
		"several in a line": {"a & b &", false, "a & b"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			host := &agenttest.Host{}
			s := open(t, host)
			fake, turn := agenttest.New(agenttest.User(tc.message))
			host.Run = func(agent.TerminalSpec) (int, string) {
				if tc.moved && !s.(agent.Mover).Move(turn.Chat) {
					t.Error("the chat's command cannot be moved")
				}
				return agenttest.Forever, ""
			}
			err := s.Prompt(t.Context(), turn)
			want := "shell completed true: `" + tc.ran + "` continues in the background [user-action]\ncomplete\n"
			if got := agenttest.Text(fake.End(err)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if len(host.Behind) != 1 || host.Behind[0].Command != tc.ran || host.Behind[0].Chat != turn.Chat ||
				host.Killed != 0 {
				t.Errorf("in the background: %+v, killed %d", host.Behind, host.Killed)
			}
			if s.(agent.Mover).Move(turn.Chat) {
				t.Error("a chat without a command has one to move")
			}
		})
	}
}

func TestRunOnlyTypedMessages(t *testing.T) {
	hunk := json.RawMessage(`{"by":{"id":"1","name":"Ana"},"side":"after","hunk":"-a\n+b"}`)
	thread := ahp.Annotation{
		ID: "1", Resource: "file:///project/a%20b.go", Resolved: true,
		Range: &ahp.TextRange{Start: ahp.TextPosition{Line: 4}, End: ahp.TextPosition{Line: 7}},
		Entries: []ahp.AnnotationEntry{
			{ID: "1", Text: ahp.Markdown("Why?\n\nReally?"), Meta: ahp.Meta{"ahphub": hunk}},
			{ID: "2", Text: ahp.Plain("`rm -rf /`")},
		},
	}
	review := agenttest.User("rm -rf /")
	review.Attachments = []ahp.MessageAttachment{
		{Value: &ahp.MessageAnnotationsAttachment{Label: "Review", Resource: "ahp-session:/1/annotations"}}}
	foreign := agenttest.User("rm -rf /")
	foreign.Origin.Kind = ahp.MessageKindAgent
	tests := map[string]struct {
		message ahp.Message
		threads []ahp.Annotation
		want    []string
	}{
		"a review": {review, []ahp.Annotation{thread},
			[]string{"one review thread", "**`a b.go`**, lines 5–7 (resolved)", "```diff\n-a\n+b\n```",
				"> Ana: Why?\n> \n> Really?", "ran nothing"}},
		"a review without thread": {review, nil, []string{"review threads that are gone"}},
		"threads alone": {agenttest.User("rm -rf /"), []ahp.Annotation{thread, thread},
			[]string{"2 review threads"}},
		"not typed by a person": {foreign, nil, []string{"only runs messages that a person types"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			host := &agenttest.Host{}
			fake, turn := agenttest.New(tc.message)
			turn.Threads = tc.threads
			if err := open(t, host).Prompt(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			got := agenttest.Text(fake.End(nil))
			for _, w := range tc.want {
				if !strings.Contains(got, w) {
					t.Errorf("no %q in\n%s", w, got)
				}
			}
			if len(host.Ran) > 0 {
				t.Errorf("it ran %v", host.Ran[0].Command)
			}
		})
	}
}

func TestCommandCannotStart(t *testing.T) {
	host := &agenttest.Host{Run: func(agent.TerminalSpec) (int, string) {
		return agenttest.Refused,
			"no more terminals"
	}}
	fake, turn := agenttest.New(agenttest.User("ls"))
	err := open(t, host).Prompt(t.Context(), turn)
	if got, want := agenttest.Text(fake.End(err)),
		"shell completed false: Could not run `ls` [user-action]\ncomplete\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDescribe(t *testing.T) {
	info, err := Backend{}.Describe(t.Context())
	if err != nil || info.Provider != "shell" || info.DisplayName != "Shell" || len(info.Models) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	p := Backend{}.Config().Properties[agent.ApprovalKey]
	if string(p.Default) != `"ask"` || len(p.Enum) != 3 || !*p.SessionMutable {
		t.Errorf("the setting is %+v", p)
	}
}
