package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
)

// world is a session that runs real commands.
type world struct {
	t    *testing.T
	home string
	data string
	host *agenttest.Host
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), data: t.TempDir()}
	w.host = &agenttest.Host{Run: func(s agent.TerminalSpec) (int, string) {
		cmd := exec.Command(s.Command[0], s.Command[1:]...)
		cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			return exit.ExitCode(), string(out)
		} else if err != nil {
			t.Error(err)
		}
		return 0, string(out)
	}}
	return w
}

// run runs a command in a new worker, as after a restart, and returns its output and the agent's
// text.
func (w *world) run(chat ahp.URI, command string) (printed, said string) {
	w.t.Helper()
	s, err := Backend{}.Open(w.t.Context(),
		agent.Spec{Session: "ahp-session:/1", Dirs: []string{w.home}, Data: w.data, Host: w.host})
	if err != nil {
		w.t.Fatal(err)
	}
	fake, turn := agenttest.New(agenttest.User(command))
	turn.Chat = chat
	if err := s.Prompt(w.t.Context(), turn); err != nil {
		w.t.Fatal(err)
	}
	for _, p := range fake.End(nil).ResponseParts {
		switch v := p.Value.(type) {
		case *ahp.MarkdownResponsePart:
			said += v.Content.String()
		case *ahp.ToolCallResponsePart:
			call := v.ToolCall.Value.(*ahp.ToolCallCompletedState)
			printed += call.Content[0].Value.(*ahp.ToolResultTerminalContent).Result.Preview
		}
	}
	return printed, said
}

func TestCommandsContinueInPlace(t *testing.T) {
	tests := map[string]struct{ first, then, want string }{
		"cd":                       {"mkdir -p 'a b'; cd 'a b'", `basename "$PWD"`, "a b\n"},
		"cd back":                  {"mkdir x; cd x", `cd - >/dev/null && ls`, "x\n"},
		"export":                   {"export WORD='two words'", `echo "$WORD"`, "two words\n"},
		"lines and quotes":         {"export W=$'a\\n\\'b'", `echo "$W"`, "a\n'b\n"},
		"unset":                    {"unset PATH_OF_TEST", `echo "${PATH_OF_TEST-gone}"`, "gone\n"},
		"a changed one":            {"export PATH_OF_TEST=new", `echo "$PATH_OF_TEST"`, "new\n"},
		"a variable of the script": {"W=1", `echo "${W-none}"`, "none\n"},
		"after an error":           {"mkdir y; cd y; exit 3", `basename "$PWD"`, "y\n"},
		"arguments":                {"true", `echo $# "$0"`, "0 bash\n"},
		"the exit status":          {"true", `(exit 7); echo $?`, "7\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH_OF_TEST", "old")
			w := newWorld(t)
			w.run("ahp-chat:/1", tc.first)
			if got, _ := w.run("ahp-chat:/1", tc.then); got != tc.want {
				t.Errorf("%q printed %q, want %q", tc.then, got, tc.want)
			}
		})
	}
}

func TestChatsHaveSeparatePlaces(t *testing.T) {
	w := newWorld(t)
	w.run("ahp-chat:/1", "mkdir sub; cd sub; export ONLY=here")
	if got, _ := w.run("ahp-chat:/2", `pwd; echo "${ONLY-none}"`); got != w.home+"\nnone\n" {
		t.Errorf("another chat is at %q", got)
	}
}

func TestReportMissingPlace(t *testing.T) {
	w := newWorld(t)
	w.run("ahp-chat:/1", "mkdir sub; cd sub")
	if err := os.Remove(filepath.Join(w.home, "sub")); err != nil {
		t.Fatal(err)
	}
	got, said := w.run("ahp-chat:/1", "pwd")
	if got != w.home+"\n" || !strings.Contains(said, "Running in the session's directory instead") {
		t.Errorf("it ran in %q and said %q", got, said)
	}
}

func TestReportTooLargeEnvironment(t *testing.T) {
	w := newWorld(t)
	_, said := w.run("ahp-chat:/1", "export BIG=$(head -c 70000 /dev/zero | tr '\\0' x); mkdir z; cd z")
	if !strings.Contains(said, "won't see them") {
		t.Errorf("it said %q", said)
	}
	if got, _ := w.run("ahp-chat:/1", `basename "$PWD"; echo "${BIG-none}"`); got != "z\nnone\n" {
		t.Errorf("the next command began with %q", got)
	}
}

func TestHostFollowsNoLinkThatCommandLeaves(t *testing.T) {
	w := newWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("/\x00LEAK=leaked\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, leave := range []string{"ln -s " + secret + " $d/after", "mkfifo $d/after", "ln -s . $d/after",
		"mv $d $d.old; ln -s " + filepath.Dir(secret) + " $d; mv " + secret + " " + filepath.Dir(secret) + "/after"} {
		w.run("ahp-chat:/1", "trap - EXIT; for d in "+w.data+"/run-*; do rm -f $d/after; "+leave+"; done")
		if printed, _ := w.run("ahp-chat:/1", "echo [$LEAK]"); strings.TrimSpace(printed) != "[]" {
			t.Errorf("%s: the next command prints %s", leave, printed)
		}
	}
}

func TestCommandLeavesNoFilesInDataDirectory(t *testing.T) {
	w := newWorld(t)
	w.run("ahp-chat:/1", "mkdir sub; cd sub")
	left, err := filepath.Glob(filepath.Join(w.data, "run-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestApprovalNamesDirectory(t *testing.T) {
	w := newWorld(t)
	w.run("ahp-chat:/1", "mkdir sub; cd sub")
	s, err := Backend{}.Open(t.Context(),
		agent.Spec{Session: "ahp-session:/1", Dirs: []string{w.home}, Data: w.data, Host: w.host})
	if err != nil {
		t.Fatal(err)
	}
	fake, turn := agenttest.New(agenttest.User("ls"))
	var meta string
	fake.Answer = func(a *ahp.ChatToolCallReadyAction) *ahp.ChatToolCallConfirmedAction {
		meta = string(a.Meta["ahphub"])
		return agenttest.Approve(a)
	}
	if err := s.Prompt(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if want := `{"directory":"` + filepath.Join(w.home, "sub") + `"}`; meta != want {
		t.Errorf("the readiness says %s, want %s", meta, want)
	}
}
