package box

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// told collects the messages for sessions.
type told struct {
	mu    sync.Mutex
	texts []string
}

func (l *told) tell(_, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts = append(l.texts, text)
}

func (l *told) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.texts, "\n")
}

// startMeasured starts a script in the session's box, which continues once its directories are measured, so that its
// writes count as growth. It returns the counter of measurements.
func (w *world) startMeasured(cmd *exec.Cmd) (in io.Closer, walks *atomic.Int64) {
	w.t.Helper()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Start(cmd, w.policy); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	walks = &w.disks[w.policy.Session].walks
	w.mu.Unlock()
	await(w.t, "the disk to be measured", func() bool { return walks.Load() > 0 })
	if _, err := io.WriteString(pipe, "\n"); err != nil {
		w.t.Fatal(err)
	}
	return pipe, walks
}

// endsByQuota runs a script that writes too much, and returns the session's messages.
func (w *world) endsByQuota(l *told, script string) string {
	w.t.Helper()
	cmd, out := w.shell("read -r begin; " + script + "; sleep 1000")
	before := strings.Count(l.all(), endedByQuota)
	in, _ := w.startMeasured(cmd)
	defer in.Close()
	await(w.t, "the programs to be ended", func() bool { return strings.Count(l.all(), endedByQuota) > before })
	if err := cmd.Wait(); err == nil {
		w.t.Fatalf("the programs were not ended, and the session is told %q\n%s", l.all(), out)
	}
	return l.all()
}

// endedByQuota is part of the message about programs ended by the quota.
const endedByQuota = "were ended because they take"

func TestDiskQuotaEndsProgramsAndSaysWhy(t *testing.T) {
	const quota = 24 << 20
	for _, mode := range []sandbox.Mode{sandbox.Namespace, sandbox.Landlock} {
		for _, test := range []struct{ name, script, names string }{
			{"private files", `head -c 40000000 /dev/zero >"${TMPDIR:-/tmp}/large"`, "/tmp/large"},
			{"a directory", "mkdir built; head -c 40000000 /dev/zero >built/large", "/built"},
			{"deleted and open", "exec 9>gone; rm gone; head -c 40000000 /dev/zero >&9", ""},
		} {
			t.Run(string(mode)+", "+test.name, func(t *testing.T) {
				t.Parallel()
				l := &told{}
				w := newWorldOf(t, mode, func(c *Config) { c.Limits.Disk, c.Tell = quota, l.tell })
				if r := w.Report(); mode == sandbox.Namespace && r.Namespace != "" || mode == sandbox.Landlock && r.Landlock != "" {
					unless(t, r.Namespace+r.Landlock)
				}
				text := w.endsByQuota(l, test.script)
				if !strings.Contains(text, test.names) || !strings.Contains(text, "--sandbox-disk") ||
					!strings.Contains(text, "24 MiB") {
					t.Errorf("the session is told %q", text)
				}
			})
		}
	}
}

// runMeasured runs a script in the session's box until its writes are measured.
func (w *world) runMeasured(script string) {
	w.t.Helper()
	cmd, out := w.shell("read -r begin; " + script + "; echo written; exec cat")
	cmd.Stdout = nil
	printed, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	in, walks := w.startMeasured(cmd)
	if _, err := io.ReadFull(printed, make([]byte, len("written\n"))); err != nil {
		w.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	most := walks.Load() + 2 // a measurement may have begun before
	await(w.t, "the disk to be measured", func() bool { return walks.Load() >= most })
	in.Close()
	if err := cmd.Wait(); err != nil {
		w.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// Existing files and link targets do not count. A session above its quota can be started again, so that people can
// delete files.
func TestDiskQuotaCountsGrowthAndLetsTidyUp(t *testing.T) {
	t.Parallel()
	l := &told{}
	w := newWorld(t, func(c *Config) { c.Limits.Disk, c.Tell = 8<<20, l.tell })
	w.write(w.dir+"/before", strings.Repeat("x", 40<<20))
	w.runMeasured("ln -s / away; head -c 1000000 /dev/zero >more")
	if text := l.all(); text != "" {
		t.Fatalf("the session is told %q", text)
	}
	w.endsByQuota(l, "head -c 20000000 /dev/zero >large")
	w.runMeasured("rm large")
	if text := l.all(); strings.Count(text, "were ended") != 1 {
		t.Errorf("the session is told %q", text)
	}
}

func TestDiskQuotaOutlivesRestart(t *testing.T) {
	t.Parallel()
	l := &told{}
	w := newWorld(t, func(c *Config) { c.Limits.Disk, c.Tell = 8<<20, l.tell })
	w.write(w.dir+"/before", strings.Repeat("x", 20<<20))
	w.runMeasured("head -c 5000000 /dev/zero >one")
	restart := func() {
		w.Close()
		w.Boxes = New(w.cfg)
		w.tick = 20 * time.Millisecond
	}
	restart()
	w.endsByQuota(l, "head -c 5000000 /dev/zero >two")
	restart()
	w.runMeasured("head -c 1000000 /dev/zero >three; rm one two") // people can still clean up
	if text := l.all(); strings.Count(text, "were ended") != 1 {
		t.Errorf("the session is told %q", text)
	}
	if err := w.Forget(w.policy.Session); err != nil || isThere(w.cfg.Dir+"/"+w.policy.Session) {
		t.Error("the history outlives its session: ", err)
	}
}

func TestFullDiskPausesPrograms(t *testing.T) {
	l := &told{}
	w := newWorld(t, func(c *Config) { c.Tell, c.Spare = l.tell, 1<<62 })
	cmd, _ := w.shell("while :; do date +%N >now; done")
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	await(t, "the session to be told", func() bool { return strings.Contains(l.all(), "are paused") })
	stopped := func() bool {
		w.mu.Lock()
		in := w.all[w.policy.Session]
		w.mu.Unlock()
		for _, pid := range in.members() {
			s, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
			// Stopped, ended, or (D) a shell that waits in vfork for a child that was stopped before exec.
			if err == nil && !regexp.MustCompile(`State:\t[TZD]`).Match(s) {
				return false
			}
		}
		return len(in.members()) > 0
	}
	await(t, "all programs to stop", stopped)
	w.End(w.policy.Session)
	_ = cmd.Wait()
}
