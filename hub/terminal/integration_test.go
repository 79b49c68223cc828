package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

func bash(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	return path
}

func TestBashIntegration(t *testing.T) {
	home := t.TempDir()
	t.Setenv("SHELL", bash(t))
	t.Setenv("HOME", home)
	t.Setenv("HISTFILE", filepath.Join(home, "history"))
	rc := "PS1='ready> '\nMINE=1\nPROMPT_COMMAND='LAST=$?'\nHISTCONTROL=ignoreboth\n"
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScreen()
	p := start(t, Spec{Dir: home}, s)
	s.waitText(t, "ready> ")
	executed := func(line string) *ahp.TerminalCommandExecutedAction {
		for _, a := range s.all() {
			if e, ok := a.(*ahp.TerminalCommandExecutedAction); ok && e.CommandLine == line {
				return e
			}
		}
		return nil
	}
	finished := func(id string) *ahp.TerminalCommandFinishedAction {
		for _, a := range s.all() {
			if e, ok := a.(*ahp.TerminalCommandFinishedAction); ok && e.CommandID == id {
				return e
			}
		}
		return nil
	}
	run := func(line string, code int64) {
		t.Helper()
		if err := p.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		s.wait(t, "the end of "+line, func() bool {
			e := executed(line)
			return e != nil && finished(e.CommandID) != nil
		})
		if got := finished(executed(line).CommandID).ExitCode; got == nil || *got != code {
			t.Errorf("exit code of %q: %v, want %d", line, got, code)
		}
	}
	run(`(exit 5)`, 5)
	run(`echo "rc=$MINE last=$LAST; a;b\\c"`, 0)
	run(`printf '\e]633;E;forged\a\e]633;C\a\e]133;D;0\a'`, 0)
	run(`mkdir "a b" && cd "a b"`, 0)
	run(`exec 9<&0; ls /proc/$$/fd 2>/dev/null | grep -c '^3$'`, 1)
	run(`printf '\e]0;my title\a'`, 0)
	if err := p.Write([]byte("exit 4\n")); err != nil {
		t.Fatal(err)
	}
	if code := finish(t, p); code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
	if got := s.text(); !strings.Contains(got, "rc=1 last=5; a;b\\c") {
		t.Errorf("the person's .bashrc and PROMPT_COMMAND do not work: %q", got)
	}
	if strings.Contains(s.text(), "\x1b]633") || strings.Contains(s.text(), "\x1b]133") {
		t.Errorf("marks are in the output: %q", s.text())
	}
	out := lines(s.all())
	for _, want := range []string{"commandDetectionAvailable", "cwdChanged {\"cwd\":\"file://" + home + "/a%20b\"}",
		"titleChanged {\"title\":\"my title\"}"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if executed("forged") != nil {
		t.Error("output forged a command")
	}
	history, err := os.ReadFile(filepath.Join(home, "history"))
	if err != nil || strings.Contains(string(history), "ahphub") || !strings.HasPrefix(string(history), "(exit 5)\n") {
		t.Errorf("history: %v\n%s", err, history)
	}
}

// TestLineMissingFromHistory checks a line that is on the screen, and so in its command, but not in the user's history.
func TestLineMissingFromHistory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("SHELL", bash(t))
	t.Setenv("HOME", home)
	t.Setenv("HISTFILE", filepath.Join(home, "history"))
	t.Setenv("HISTCONTROL", "ignorespace")
	s := newScreen()
	p := start(t, Spec{Dir: home}, s)
	s.wait(t, "the prompt", func() bool { return strings.Contains(lines(s.all()), "commandDetectionAvailable") })
	if err := p.Write([]byte("true\n export KEY=hunter2\nexit\n")); err != nil {
		t.Fatal(err)
	}
	finish(t, p)
	var got []string
	for _, a := range s.all() {
		if e, ok := a.(*ahp.TerminalCommandExecutedAction); ok {
			got = append(got, e.CommandLine)
		}
	}
	if want := "true|export KEY=hunter2|exit"; strings.Join(got, "|") != want {
		t.Errorf("command lines %q, want %q", got, want)
	}
	if history, err := os.ReadFile(filepath.Join(home, "history")); err != nil ||
		strings.Contains(string(history), "hunter2") {
		t.Errorf("history: %v\n%s", err, history)
	}
}

func TestShellAcceptsLogins(t *testing.T) {
	for _, sh := range []string{"", "bash", "/usr/sbin/nologin", "/bin/false", "/no/such/shell", "/etc/passwd", "/"} {
		t.Setenv("SHELL", sh)
		if got := Shell(); got == sh || !filepath.IsAbs(got) {
			t.Errorf("SHELL=%s gives %s", sh, got)
		}
	}
	t.Setenv("SHELL", "/bin/sh")
	if got := Shell(); got != "/bin/sh" {
		t.Errorf("SHELL=/bin/sh gives %s", got)
	}
}
