package box

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// told collects what sessions are told.
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

// endsByQuota runs a script that writes too much, and returns what the session is told.
func (w *world) endsByQuota(l *told, script string) string {
	w.t.Helper()
	cmd, out := w.shell(script + "; sleep 1000")
	if err := w.Start(cmd, w.policy); err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(l.all(), "were ended because they take") {
		w.t.Fatalf("it ended with %v, and the session is told %q\n%s", err, l.all(), out)
	}
	return l.all()
}

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

// What was there before does not count, nor what links lead to. A session above its quota can be started again, so that
// people can delete files.
func TestDiskQuotaCountsGrowthAndLetsTidyUp(t *testing.T) {
	l := &told{}
	w := newWorld(t, func(c *Config) { c.Limits.Disk, c.Tell = 8<<20, l.tell })
	w.write(w.dir+"/before", strings.Repeat("x", 40<<20))
	w.run("ln -s / away; head -c 1000000 /dev/zero >more; sleep 1.2")
	if text := l.all(); text != "" {
		t.Fatalf("the session is told %q", text)
	}
	w.endsByQuota(l, "head -c 20000000 /dev/zero >large")
	w.run("rm large; sleep 1.2")
	if text := l.all(); strings.Count(text, "were ended") != 1 {
		t.Errorf("the session is told %q", text)
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
			// Stopped, gone, or (D) a shell that waits in vfork for a child which was stopped before it became a program.
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
