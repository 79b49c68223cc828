package acp_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

const session ahp.URI = "ahp-session:/one"

// world is a real host whose agent is the fake program.
type world struct {
	t      *testing.T
	hub    *hub.Hub
	host   *host.Host
	caller core.Caller
	dir    string
	data   string // the host's
	seq    int64
	turns  int
}

func program(mode string) acp.Program {
	return acp.Program{Name: "fake", Title: "Fake", Command: os.Args[0], Env: map[string]string{"FAKE_ACP": mode},
		Login: "Set FAKE_KEY"}
}

func newWorld(t *testing.T, b acp.Backend) *world {
	t.Helper()
	return newWorldWith(t, b, nil)
}

// newWorldWith creates the session with settings, and with additional directories.
func newWorldWith(t *testing.T, b acp.Backend, config ahp.Meta, dirs ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), data: t.TempDir()}
	w.hub = hub.New(hub.Config{Derive: func(tx *hub.Tx, e *hub.Envelope) { w.host.Derive(tx, e) }})
	var err error
	b.Guard = localtest.NewGuard(t, w.data)
	w.host, err = host.New(host.Config{Hub: w.hub,
		Machine: local.New(local.WithData(local.Data{Dir: w.data, Guard: b.Guard})), DataDir: w.data, DefaultDir: w.dir,
		Agents: map[string]agent.Backend{"fake": b}, DefaultAgent: "fake"})
	w.must(err)
	stop := hosttest.Run(t, w.host)
	conn, err := w.hub.Connect(hub.ConnConfig{Principal: access.Owner("Ana").ID, ClientID: "ana-1",
		Audience: access.Owner("Ana").Audience()})
	w.must(err)
	w.caller = core.Caller{Principal: access.Owner("Ana"), ClientID: "ana-1", Conn: conn}
	t.Cleanup(func() { conn.Close(errors.New("the test is over")); stop() })
	uris := []ahp.URI{core.FileURI(w.dir)}
	for _, dir := range dirs {
		uris = append(uris, core.FileURI(dir))
	}
	w.must(w.host.CreateSession(t.Context(), w.caller,
		ahp.CreateSessionParams{Channel: session, WorkingDirectories: uris, Config: config}))
	w.must(w.host.Keep(session)) // so that its agent is opened
	w.until("the session is ready", func() bool { return w.session().Lifecycle != ahp.SessionLifecycleCreating })
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	hosttest.Must(w.t, err)
}

// until waits for a condition.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			w.t.Fatalf("never: %s; the chat is\n%s", what, w.text())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (w *world) session() *ahp.SessionState {
	s, _ := hub.StateOf[*ahp.SessionState](w.hub, session)
	return s
}

func (w *world) chat() *ahp.ChatState {
	s, _ := hub.StateOf[*ahp.ChatState](w.hub, w.session().DefaultChat)
	return s
}

func (w *world) text() string {
	c := w.chat()
	if c.ActiveTurn != nil {
		return agenttest.Text(&ahp.Turn{ResponseParts: c.ActiveTurn.ResponseParts.Slice(), State: "active"})
	}
	if len(c.Turns) == 0 {
		return ""
	}
	return agenttest.Text(c.Turns[len(c.Turns)-1])
}

func (w *world) do(a ahp.Action) {
	w.t.Helper()
	w.seq++
	o, err := w.host.Dispatch(w.t.Context(), w.caller, w.session().DefaultChat, w.seq, a)
	w.must(err)
	if o.Rejected != "" {
		w.t.Fatalf("%s was refused: %s", a.ActionType(), o.Rejected)
	}
}

// begin starts a turn.
func (w *world) begin(m ahp.Message) string {
	w.t.Helper()
	w.turns++
	id := fmt.Sprintf("turn-%d", w.turns)
	w.do(&ahp.ChatTurnStartedAction{TurnID: id, Message: m})
	return id
}

// say plays a turn to its end and returns it in text.
func (w *world) say(text string) string {
	w.t.Helper()
	w.begin(agenttest.User(text))
	return w.ended()
}

func (w *world) ended() string {
	w.t.Helper()
	w.until("the turn is over", func() bool { return w.chat().ActiveTurn == nil })
	return w.text()
}

// pending waits for a tool call to be approved.
func (w *world) pending() *ahp.ToolCallPendingConfirmationState {
	w.t.Helper()
	var found *ahp.ToolCallPendingConfirmationState
	w.until("an approval is asked for", func() bool {
		c := w.chat()
		if c.ActiveTurn == nil {
			return false
		}
		for _, p := range c.ActiveTurn.ResponseParts.All() {
			if call, ok := p.Value.(*ahp.ToolCallResponsePart); ok {
				if v, ok := call.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState); ok {
					found = v
				}
			}
		}
		return found != nil
	})
	return found
}

func wants(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, s := range want {
		if !strings.Contains(got, s) {
			t.Errorf("%q is missing in:\n%s", s, got)
		}
	}
}

func TestTurns(t *testing.T) {
	t.Setenv("A_SECRET_OF_THE_HOST", "hidden") // from its terminals too
	w := newWorld(t, acp.Backend{Program: program("plain")})
	other := filepath.Join(t.TempDir(), "other.txt")
	w.must(os.WriteFile(other, []byte("secret\nsecret\n"), 0o600))
	w.must(os.WriteFile(filepath.Join(w.dir, "in.txt"), []byte("one\ntwo\nthree\n"), 0o600))
	for _, test := range []struct {
		name, say string
		want      string
	}{
		{"text and thoughts, in their parts, and nothing of what is unknown", "text",
			"reasoning let me think\nmarkdown Hello you\ncomplete\n"},
		{"a plan, each version once though a tool's call says it as well", "plan",
			"update_plan completed true: Plan: 0 of 2 done, now: look [not-needed]\n" +
				"update_plan completed true: Plan: 1 of 2 done, now: write [not-needed]\n" +
				"update_plan completed true: Plan: 2 of 2 done [not-needed]\ncomplete\n"},
		{"a file of the session", "read " + filepath.Join(w.dir, "in.txt"), "markdown read: two\n\ncomplete\n"},
		{"a refusal", "refuse", "error Fake refused to continue and dropped this message. Rephrase it and try " +
			"again.\nerror\n"},
		{"a login that is needed only now", "locked",
			"error Fake needs a login (Authentication required). Set FAKE_KEY, then try again. It offers: API key: " +
				"set FAKE_KEY.\nerror\n"},
		{"a variable of the host", "env A_SECRET_OF_THE_HOST", "markdown A_SECRET_OF_THE_HOST=\ncomplete\n"},
		{"a variable of the host in a terminal", "run echo [$A_SECRET_OF_THE_HOST]",
			"execute completed true: echo [$A_SECRET_OF_THE_HOST] [not-needed]\nmarkdown exit 0, output " +
				"\"[]\"\ncomplete\n"},
		{"a terminal", "run echo $((6*7)); exit 3",
			"execute completed true: echo $((6*7)); exit 3 [not-needed]\nmarkdown exit 3, output \"42\"\ncomplete\n"},
	} {
		if got := w.say(test.say); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
	wants(t, w.say("read "+other), "refused: ", "outside of the directories")
	if u := w.chat().Turns[0].Usage; u == nil || *u.OutputTokens != 5 {
		t.Errorf("usage: %+v", u)
	}
	var shown *ahp.ToolResultTerminalContent
	for _, p := range w.chat().Turns[7].ResponseParts {
		if call, ok := p.Value.(*ahp.ToolCallResponsePart); ok {
			shown, _ = call.ToolCall.Value.(*ahp.ToolCallCompletedState).Content[0].Value.(*ahp.ToolResultTerminalContent)
		}
	}
	if shown == nil || *shown.Result.ExitCode != 3 || !strings.Contains(shown.Result.Preview, "42") {
		t.Fatalf("the terminal is shown as %+v", shown)
	}
	if _, known := w.hub.Info(shown.Resource); !known {
		t.Error("the terminal has no channel to watch")
	}
}

func TestEditIsApproved(t *testing.T) {
	for _, test := range []struct {
		name, option string
		approved     bool
		want         string
		file         string
	}{
		{"by the option that was picked", "always", true,
			"edit completed true: Edit f.txt [user-action]\nmarkdown told always\ncomplete\n", "a\nc\nd\n"},
		{"by kind", "", true, "edit completed true: Edit f.txt [user-action]\nmarkdown told yes\ncomplete\n",
			"a\nc\nd\n"},
		{"or denied", "", false, "edit cancelled: denied\nmarkdown told no\ncomplete\n", "a\nb\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, acp.Backend{Program: program("plain")})
			path := filepath.Join(w.dir, "f.txt")
			w.must(os.WriteFile(path, []byte("a\nb\n"), 0o600))
			id := w.begin(agenttest.User("edit " + path))
			call := w.pending()
			wants(t, call.InvocationMessage.Text, "Edit f.txt", "-b\n+c\n+d")
			if call.ToolInput != nil {
				t.Errorf("the card shows the change twice: %q", call.ToolInput.Text)
			}
			if len(call.Options) != 3 || call.Options[0].ID != "no" ||
				call.Options[0].Kind != ahp.ConfirmationOptionKindDeny ||
				call.Options[1].Label != "Always" || *call.Options[1].Group <= *call.Options[2].Group {
				t.Errorf("the options are %+v", call.Options)
			}
			if call.Edits == nil || *call.Edits.Items[0].Diff.Added != 2 || *call.Edits.Items[0].Diff.Removed != 1 {
				t.Errorf("the edits are %+v", call.Edits)
			}
			w.do(&ahp.ChatToolCallConfirmedAction{TurnID: id, ToolCallID: call.ToolCallID, Approved: test.approved,
				SelectedOptionID: test.option})
			if got := w.ended(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if raw, _ := os.ReadFile(path); string(raw) != test.file {
				t.Errorf("the file is %q", raw)
			}
		})
	}
}

func TestRepeatedRequestIsAskedOnce(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	id := w.begin(agenttest.User("twice"))
	w.until("both were asked", func() bool { return strings.Contains(w.text(), "asked") })
	w.do(&ahp.ChatToolCallConfirmedAction{TurnID: id, ToolCallID: w.pending().ToolCallID, Approved: true})
	yes := "map[outcome:map[optionId:yes outcome:selected]]"
	wants(t, w.ended(), "markdown asked "+yes+" "+yes+"\n")
}

func TestSettingApproves(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	w.seq++
	_, err := w.host.Dispatch(t.Context(), w.caller, session, w.seq,
		&ahp.SessionConfigChangedAction{Config: ahp.Meta{"approval": []byte(`"auto"`)}})
	w.must(err)
	wants(t, w.say("edit "+filepath.Join(w.dir, "new", "f.txt")),
		"edit completed true: Edit f.txt [setting]\nmarkdown told yes\n")
}

func TestWriteOutsideIsRefused(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	path := filepath.Join(t.TempDir(), "out.txt")
	w.must(os.Symlink(filepath.Dir(path), filepath.Join(w.dir, "link")))
	for _, p := range []string{path, filepath.Join(w.dir, "..", "out.txt"), filepath.Join(w.dir, "link", "out.txt")} {
		id := w.begin(agenttest.User("edit " + p))
		w.do(&ahp.ChatToolCallConfirmedAction{TurnID: id, ToolCallID: w.pending().ToolCallID, Approved: true})
		wants(t, w.ended(), "edit completed false")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file outside of the session was written")
	}
}

func TestProgramCannotReachDataDirectory(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	token, link := filepath.Join(w.data, "token"), filepath.Join(w.dir, "link")
	w.must(os.WriteFile(token, []byte("secret"), 0o600))
	w.must(os.Link(token, link))
	id := w.begin(agenttest.User("edit " + link))
	w.do(&ahp.ChatToolCallConfirmedAction{TurnID: id, ToolCallID: w.pending().ToolCallID, Approved: true})
	wants(t, w.ended(), "edit completed false")
	if kept, err := os.ReadFile(token); err != nil || string(kept) != "secret" {
		t.Errorf("the token is now %q: %v", kept, err)
	}
}

func TestCancel(t *testing.T) {
	for _, test := range []struct{ name, say string }{
		{"an agent that hears it", "hold"}, {"one that does not", "deaf"}, {"a question", "edit /x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, acp.Backend{Program: program("plain"), Limits: acp.Limits{Cancel: 100 * time.Millisecond}})
			before := w.say("pid")
			id := w.begin(agenttest.User(test.say))
			if strings.HasPrefix(test.say, "edit") {
				w.pending()
			} else {
				w.until("it began", func() bool { return strings.Contains(w.text(), "holding") })
			}
			w.do(&ahp.ChatTurnCancelledAction{TurnID: id})
			wants(t, w.ended(), "cancelled\n")
			after := w.say("pid")
			if same := before == after; same == (test.say == "deaf") {
				t.Errorf("the same program goes on: %v (%s, %s)", same, before, after)
			}
		})
	}
}

func TestCrashInATurn(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("loads")})
	got := w.say("crash")
	wants(t, got, "markdown half of an ans\n",
		"error Fake was ended by a signal (killed). It said: panic: out of luck. Resume to try again.\nerror\n")
	last := w.chat().Turns[0].ResponseParts
	if p := last[len(last)-1].Value.(*ahp.ErrorResponsePart); p.Resumable == nil || !*p.Resumable {
		t.Error("it cannot be resumed")
	}
	wants(t, w.say("text"), "markdown Hello you\ncomplete\n")
}

func TestChildProcessesEndWithAgent(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain"), Limits: acp.Limits{Idle: 50 * time.Millisecond}})
	var pid int
	if _, err := fmt.Sscanf(w.say("child"), "markdown %d", &pid); err != nil {
		t.Fatal(err)
	}
	w.until("the child is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) })
}

// zombie reports whether a process has ended and was not waited for.
func zombie(pid int) bool {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(raw), ") Z ")
}

func TestResumeTruncatedAnswer(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	id := w.begin(agenttest.User("long"))
	wants(t, w.ended(), "as much as fits", "Resume to continue")
	w.do(&ahp.ChatTurnResumeAction{TurnID: id})
	w.until("it went on", func() bool {
		c := w.chat()
		return c.ActiveTurn == nil &&
			c.Turns[0].State == ahp.TurnStateComplete
	})
	wants(t, w.text(), "as much as fits", "got: Continue where you stopped.")
}

// A session that cannot start reports what happened, what the program printed, and what to do.
func TestCannotStart(t *testing.T) {
	absent := program("plain")
	absent.Command = "no-such-agent-here"
	for _, test := range []struct {
		name string
		prog acp.Program
		want []string
	}{
		{"exits", program("exit"), []string{"Fake exited with status 3", "no licence was found", "on the server"}},
		{"prints garbage", program("garbage"),
			[]string{"does not speak the Agent Client Protocol", "usage: fake", "arguments"}},
		{"other version", program("future"), []string{"speaks version 9", "install"}},
		{"login", program("login"), []string{"needs a login", "Set FAKE_KEY, then try again", "API key: set FAKE_KEY"}},
		{"silent", program("silent"), []string{"did not introduce itself in time"}},
		{"absent", absent, []string{"cannot be started", "no-such-agent-here", "install it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			limits := acp.Limits{}
			if test.name == "silent" {
				limits.Start = 300 * time.Millisecond
			}
			w := newWorld(t, acp.Backend{Program: test.prog, Limits: limits})
			w.until("the session failed", func() bool { return w.session().Lifecycle == ahp.SessionLifecycleFailed })
			s := w.session()
			if s.CreationError == nil {
				t.Fatalf("the session is %s", s.Lifecycle)
			}
			wants(t, s.CreationError.Message, test.want...)
		})
	}
}

func TestInvalidLinesAreIgnored(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("chatty")})
	wants(t, w.say("text"), "markdown Hello you\ncomplete\n")
}

// Invalid UTF-8 from an agent is repaired, not lost.
func TestInvalidUTF8OfAgentIsRepaired(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	wants(t, w.say("bytes"), "markdown a\uFFFDb\ncomplete\n")
}

// An idle program is stopped; the next turn starts it, and it knows the history by its own memory
// or from the transcript.
func TestIdleStopAndResume(t *testing.T) {
	for mode, want := range map[string]string{
		"loads": "markdown echo again\ncomplete\n",
		"plain": "markdown This is what was said here so far:\n\nUser:\npid\n\nAssistant:\n",
	} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, acp.Backend{Program: program(mode), Limits: acp.Limits{Idle: 20 * time.Millisecond}})
			got := w.say("pid")
			pid, err := strconv.Atoi(strings.Fields(got)[1])
			w.must(err)
			w.until("the program is stopped", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
			if got := w.say("echo again"); !strings.HasPrefix(got, want) {
				t.Errorf("got\n%.300s", got)
			}
		})
	}
}

func TestAttachments(t *testing.T) {
	w := newWorld(t, acp.Backend{Program: program("plain")})
	m := agenttest.User("look")
	m.Attachments = []ahp.MessageAttachment{
		{Value: &ahp.SimpleMessageAttachment{Label: "Note", ModelRepresentation: "mind the gap"}},
		{Value: &ahp.MessageEmbeddedResourceAttachment{Label: "n.txt", Data: "aGk=", ContentType: "text/plain"}},
		{Value: &ahp.MessageResourceAttachment{Label: "f.go", URI: "file:///x/f.go"}},
	}
	w.begin(m)
	wants(t, w.ended(), "got: look | Note:\nmind the gap | n.txt:\n\n```\nhi\n```\n | link file:///x/f.go")
}
