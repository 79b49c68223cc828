package box

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// world is a data directory with boxes, and a session's directory.
type world struct {
	*Boxes
	t         testing.TB
	data, dir string
	policy    *sandbox.Policy
}

// newWorld returns a world with boxes. It skips the test if they do not work.
func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	w := newWorldOf(t, sandbox.Namespace, change...)
	if err := w.try(&sandbox.Policy{Network: sandbox.Closed}); err != nil {
		unless(t, "boxes do not work here: "+err.Error())
	}
	return w
}

// inEachBox runs a test in a box of namespaces and in a container, in parallel with other tests: all of them mostly
// wait.
func inEachBox(t *testing.T, test func(*testing.T, *world), change ...func(*Config)) {
	t.Parallel()
	t.Run("namespace", func(t *testing.T) { t.Parallel(); test(t, newWorld(t, change...)) })
	t.Run("container", func(t *testing.T) { t.Parallel(); test(t, newContainers(t, change...)) })
}

// boxOf returns the box of a session, of either kind.
func boxOf(in cell) *box {
	if c, ok := in.(*container); ok {
		return c.box
	}
	return in.(*box)
}

// newWorldOf returns a world whose sessions use a mode, whether or not it works.
func newWorldOf(t testing.TB, mode sandbox.Mode, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, data: t.TempDir(), dir: t.TempDir()}
	g, err := guard.New(w.data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: filepath.Join(w.data, "boxes"), Program: program, Home: t.TempDir(), Path: os.Getenv("PATH"),
		Guard: g, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&cfg)
	}
	w.Boxes = New(cfg)
	w.tick = 20 * time.Millisecond
	t.Cleanup(w.Close)
	w.policy = &sandbox.Policy{Session: "s1", Mode: mode, Write: []string{w.dir}, Network: sandbox.Closed}
	return w
}

// unless skips a test, or fails it where all requirements must be met.
func unless(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// shell returns a script's command, not started, and its output.
func (w *world) shell(script string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command("/bin/sh", "-c", script)
	out := &bytes.Buffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, append(os.Environ(), "HOME="+w.cfg.Home), out, out
	return cmd, out
}

// run returns the output of a shell script in the session's box.
func (w *world) run(script string) string {
	w.t.Helper()
	cmd, out := w.shell(script)
	err := w.Start(cmd, w.policy)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(out.String())
}

// refused returns why a script does not start.
func (w *world) refused(script string) string {
	w.t.Helper()
	cmd, _ := w.shell(script)
	err := w.Start(cmd, w.policy)
	if err == nil {
		_ = cmd.Wait()
		w.t.Fatal("it starts: ", script)
	}
	return err.Error()
}

func (w *world) write(path, content string) {
	w.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}
