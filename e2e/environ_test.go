package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/hub/ahp"
)

// TestTerminalSeesNoSecretOfTheEnvironment starts the program with secrets in its environment, as
// root and as another user, and has a terminal and an agent's command read everything they can of
// it.
func TestTerminalSeesNoSecretOfTheEnvironment(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("environments are files in /proc on Linux alone")
	}
	t.Run("the user of the tests", func(t *testing.T) { readEnvironments(t, Options{Dir: t.TempDir()}) })
	t.Run("nobody", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can start programs as another user")
		}
		dir := openToOthers(t)
		readEnvironments(t, Options{Dir: dir, Data: filepath.Join(dir, "data"), Env: []string{"HOME=" + dir},
			As: &syscall.Credential{Uid: 65534, Gid: 65534}})
	})
}

// openToOthers returns a directory of the user nobody. Those of testing.T are closed to others.
func openToOthers(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ahphub-nobody-*")
	if err == nil {
		err = os.Chown(dir, 65534, 65534)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func readEnvironments(t *testing.T, o Options) {
	const secret = "canary-of-the-environment"
	config := filepath.Join(o.Dir, "config.toml")
	if err := os.WriteFile(config, []byte("[agents]\nenv = [\"MINE_*\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Args = []string{"--config", config}
	for _, name := range []string{"AHPHUB_TOKEN", "AHPHUB_OIDC_CLIENT_SECRET", "AHPHUB_SMTP_PASSWORD",
		"ANTHROPIC_API_KEY"} {
		o.Env = append(o.Env, name+"="+secret+"-"+name)
	}
	// more than a pipe's default capacity
	o.Env = append(o.Env, "MINE_ONE=allowed", "LARGE="+strings.Repeat(secret, 4<<10))
	p := Start(t, o)
	w := watch(t, p, "ana") // by the token from the environment
	chat := w.newSession(o.Dir)

	script := func(name string) string {
		return fmt.Sprintf("cd %[1]s; echo $PPID >%[2]s.ppid; { cat /proc/$PPID/environ /proc/%[3]d/environ; env -0; "+
			"} >%[2]s.part; mv %[2]s.part %[2]s",
			o.Dir, name, p.Pid())
	}
	w.say(chat, "reads", script("agent"))
	ctx, cancel := w.patient()
	defer cancel()
	terminal := ahp.URI("ahp-terminal:/" + uuid.NewString())
	err := w.Call(ctx, "createTerminal", map[string]any{"channel": terminal, "claim": map[string]any{"kind": "client",
		"clientId": "ana"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.mirror(terminal)
	if _, err := w.Dispatch(ctx, terminal, &ahp.TerminalInputAction{Data: script("terminal") + "\r"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent", "terminal"} {
		seen := waitForFile(t, ctx, filepath.Join(o.Dir, name))
		if i := strings.Index(seen, secret); i >= 0 {
			t.Errorf("the %s reads a secret: …%s", name, seen[max(0, i-60):i])
		}
		if n := strings.Count("\x00"+seen, "\x00PATH="); n != 3 {
			t.Errorf("the %s read %d environments, want 3: this test proves nothing\n%q", name, n, seen)
		}
		if n := strings.Count(seen, "MINE_ONE=allowed"); n != 1 {
			t.Errorf("the %s sees a variable of [agents] env %d times, want once, in its own environment", name, n)
		}
		parent := waitForFile(t, ctx, filepath.Join(o.Dir, name+".ppid"))
		if strings.TrimSpace(parent) != fmt.Sprint(p.Pid()) {
			t.Errorf("the parent of the %s is %s, and the program was started as %d", name, parent, p.Pid())
		}
	}
	p.Stop()
}

func waitForFile(t *testing.T, ctx context.Context, path string) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if b, err := os.ReadFile(path); err == nil {
			return string(b)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s was not written", path)
		}
	}
}
