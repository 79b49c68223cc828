package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// needSandbox skips a test where sandboxes do not work.
func needSandbox(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bwrap", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
				t.Fatal(err)
			}
			t.Skip("this needs " + name + ": make deps installs it")
		}
	}
}

// without returns a PATH with all of the system's programs except one.
func without(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir("/usr/bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == program {
			continue
		}
		if err := os.Symlink("/usr/bin/"+entry.Name(), filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A session's program is in a sandbox by default. It works in its directory and with the host's
// tools, and reaches neither the data directory nor the server's pages. No session may work in the
// whole home directory.
func TestSandboxedSession(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	t.Run("tools", func(t *testing.T) {
		t.Parallel()
		toolJourney(t, "stdio", "--sandbox", "namespace", "--sandbox-network", "none")
	})
	t.Run("terminal and commands", func(t *testing.T) {
		t.Parallel()
		dir, home := t.TempDir(), t.TempDir()
		p := Start(t, Options{Boxed: true, Args: []string{"--sandbox-network", "none"}, Dir: dir,
			Env: []string{"HOME=" + home}})
		w := watch(t, p, "editor")
		j := &toolTalk{watcher: w, session: "ahp-session:/" + uuid.NewString()}
		j.begin()
		if got := core.ConfigValue(w.session(j.session), "sandbox"); got != "namespace" {
			t.Errorf("the session's setting is %q", got)
		}
		ctx, cancel := w.patient()
		defer cancel()
		err := w.Call(ctx, "createSession", ahp.CreateSessionParams{Channel: "ahp-session:/" + ahp.URI(uuid.NewString()),
			WorkingDirectories: []ahp.URI{core.FileURI(home)}}, nil)
		if err == nil || !strings.Contains(err.Error(), "holds your home directory") {
			t.Errorf("a session of the home directory: %v", err)
		}
		port := p.URL[strings.LastIndex(p.URL, ":")+1:]
		script := "tty; cat " + p.Data + "/token; ls " + p.Data + "; hostname; " +
			"exec 3<>/dev/tcp/127.0.0.1/" + port +
			"; printf 'GET / HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3; head -1 <&3; echo made >made"
		text := j.shell(script)
		for _, want := range []string{"/dev/pts/0", "No such file or directory", "sandbox", "404"} {
			if !strings.Contains(text, want) {
				t.Errorf("it lacks %q:\n%s", want, text)
			}
		}
		if _, err := os.Stat(dir + "/made"); err != nil {
			t.Error(err)
		}
	})
}

// shell returns the output of a script in a terminal of the session.
func (j *toolTalk) shell(script string) string {
	j.t.Helper()
	terminal := ahp.URI("ahp-terminal:/" + uuid.NewString())
	ctx, cancel := j.patient()
	defer cancel()
	err := j.Call(ctx, "createTerminal", ahp.CreateTerminalParams{Channel: terminal, Claim: ahp.TerminalClaim{
		Value: &ahp.TerminalSessionClaim{Session: j.session}}}, nil)
	if err != nil {
		j.t.Fatal(err)
	}
	j.mirror(terminal)
	if _, err := j.Dispatch(j.ctx, terminal, &ahp.TerminalInputAction{Data: script + "; echo en''d\r"}); err != nil {
		j.t.Fatal(err)
	}
	text := func() string {
		s, _ := j.State(terminal).(*ahp.TerminalState)
		if s == nil {
			return ""
		}
		var all strings.Builder
		for _, part := range s.Content {
			switch v := part.Value.(type) {
			case *ahp.TerminalUnclassifiedPart:
				all.WriteString(v.Value.String())
			case *ahp.TerminalCommandPart:
				all.WriteString(v.Output.String())
			}
		}
		return all.String()
	}
	j.wait("the commands to end", func() bool { return strings.Contains(text(), "\nend") })
	return text()
}

// A session whose sandbox has a list of hosts shows what its programs requested, and what the owner
// must add to allow it.
func TestSessionListsHostsThatItsSandboxAskedFor(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	p := Start(t, Options{Boxed: true, Args: []string{"--sandbox-network", "list"}})
	w := watch(t, p, "editor")
	j := &toolTalk{watcher: w, session: "ahp-session:/" + uuid.NewString()}
	j.begin()
	if text := j.shell("curl -s http://npm.corp.example:8081/left-pad"); !strings.Contains(text, "--sandbox-allow "+
		"npm.corp.example:8081") {
		t.Errorf("the program is told:\n%s", text)
	}
	ana := OpenBrowser(t).Page()
	ana.SignIn(p)
	ana.Open(p.URL + "/s/" + core.ShortID(j.session))
	ana.Live()
	ana.Click("summary[aria-label=\"Session menu\"]")
	ana.Click("[data-info]")
	ana.WaitText("#contacts", "npm.corp.example:8081")
	ana.WaitText("#contacts", "Refused")
	j.shell("curl -s http://169.254.169.254/latest/meta-data")
	ana.Click("#info button")
	ana.Click("summary[aria-label=\"Session menu\"]")
	ana.Click("[data-info]")
	ana.WaitText("#contacts", "169.254.169.254:80")
	ana.Shot("light")
	ana.look(1280, 844, "dark")
	ana.Shot("dark")
	ana.look(390, 844, "light")
	ana.Shot("phone")
}

// A session with only Landlock works with the host's tools.
func TestSessionWithLandlock(t *testing.T) {
	if version, err := landlock.LandlockGetABIVersion(); err != nil || version < 3 {
		t.Skip("this needs a kernel with Landlock: ", err)
	}
	t.Parallel()
	toolJourney(t, "stdio", "--sandbox", "landlock", "--sandbox-network", "none")
}
