package box

import (
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// bounded returns a world whose boxes have limits.
func bounded(t *testing.T, newWorld func(testing.TB, ...func(*Config)) *world, l Limits) *world {
	t.Helper()
	if g := findGroups("/proc", "/sys/fs/cgroup"); g.why != "" {
		t.Skip(g.why) // it depends on who runs the test
	}
	w := newWorld(t, func(c *Config) { c.Limits = l })
	w.policy.Session = "t" + rand.Text() // the whole computer shares control groups
	return w
}

func TestBoundedMemoryEndsProgramAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, newWorld := range map[string]func(testing.TB, ...func(*Config)) *world{
		"namespace": newWorld, "container": newContainers,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); checkMemory(t, bounded(t, newWorld, Limits{Memory: 48 << 20})) })
	}
}

func checkMemory(t *testing.T, w *world) {
	pty, tty, err := w.OpenTerminal(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	cmd := exec.Command("/bin/sh", "-c", "head -c 400000000 /dev/zero | tail | wc -c; echo over")
	cmd.Env, cmd.Dir = os.Environ(), w.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	printed, _ := io.ReadAll(pty) // until the terminal is closed
	_ = cmd.Wait()
	if got := string(printed); !strings.Contains(got, "over") || !strings.Contains(got, "may use 48 MiB") ||
		!strings.Contains(got, "--sandbox-memory") {
		t.Errorf("the terminal prints %q", got)
	}
	w.endWithoutGroup()
}

func TestBoundedProcessesRefuseMore(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Namespace, sandbox.Landlock} {
		t.Run(string(mode), func(t *testing.T) { refuseMore(t, mode) })
	}
}

func refuseMore(t *testing.T, mode sandbox.Mode) {
	w := bounded(t, newWorld, Limits{Processes: 30})
	if why := w.Report().Landlock; mode == sandbox.Landlock && why != "" {
		t.Skip(why)
	}
	w.policy.Mode = mode
	cmd, _ := w.shell("exec 2>said; i=0; while [ $i -lt 100 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done")
	cmd.Stdout, cmd.Stderr = nil, nil // remaining programs would hold them open
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if said := w.read(w.dir + "/said"); err == nil || !strings.Contains(strings.ToLower(said), "fork") {
		t.Errorf("100 processes: %v, %s", err, said)
	}
	w.endWithoutGroup()
}

// endWithoutGroup ends the session's box, and checks that its control group was removed, which needs all processes in
// it to end.
func (w *world) endWithoutGroup() {
	w.t.Helper()
	w.End(w.policy.Session)
	g := w.groups()
	for _, dir := range []string{g.unified, g.single["memory"], g.single["pids"], g.single["cpu"]} {
		if dir != "" && isThere(filepath.Join(dir, g.prefix+w.policy.Session)) {
			w.t.Error("the control group is left behind in ", dir)
		}
	}
}

// writeTree creates files with their contents, and their directories.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindGroupsOfEachVersion(t *testing.T) {
	for _, test := range []struct {
		name, own, want string // want is the directory of version 2, or "why"
		mount           map[string]string
	}{
		{"none", "", "why", nil},
		{"version 2, handed over", "0::/system.slice/ahphub.service/hub\n", "/system.slice/ahphub.service",
			map[string]string{
				"system.slice/ahphub.service/hub/cgroup.subtree_control": "",
				"system.slice/ahphub.service/cgroup.subtree_control":     ""}},
		{"version 2, not handed over", "0::/user.slice\n", "why",
			map[string]string{"user.slice/cgroup.subtree_control": ""}},
		{"version 2, handed over whole", "0::/ahphub.service\n", "/ahphub.service", map[string]string{
			"ahphub.service/cgroup.subtree_control": "", "ahphub.service/cgroup.controllers": "cpu memory pids",
			"ahphub.service/cgroup.procs": strconv.Itoa(os.Getpid()) + "\n"}},
		{"version 2, shared with others", "0::/user\n", "why", map[string]string{
			"user/cgroup.subtree_control": "", "user/cgroup.controllers": "cpu memory pids",
			"user/cgroup.procs": "1\n" + strconv.Itoa(os.Getpid()) + "\n"}},
		{"version 2, of a container", "0::/../other\n", "/",
			map[string]string{"cgroup.subtree_control": "cpu memory pids"}},
	} {
		proc, mount := writeTree(t, map[string]string{"self/cgroup": test.own}), writeTree(t, test.mount)
		g := findGroups(proc, mount)
		if got := g.unified; test.want == "why" && g.why == "" || test.want != "why" && (g.why != "" ||
			filepath.Clean(got) != filepath.Join(mount, test.want)) {
			t.Errorf("%s: %q in %s, %s", test.name, got, mount, g.why)
		}
	}
	proc := writeTree(t, map[string]string{"self/cgroup": "4:memory:/a\n8:pids:/gone\n1:cpu,cpuacct:/\n0::/\n"})
	mount := writeTree(t, map[string]string{"memory/a/x": "", "pids/x": "", "cpu/x": ""})
	if g := findGroups(proc, mount); g.why != "" || g.single["memory"] != mount+"/memory/a" ||
		g.single["pids"] != mount+"/pids" {
		t.Errorf("version 1: %+v", g)
	}
}

// For programs without a terminal, such as agents, the session is notified.
func TestBoundedMemoryTellsSession(t *testing.T) {
	t.Parallel()
	l := &told{}
	w := bounded(t, newWorld, Limits{Memory: 48 << 20})
	w.cfg.Tell = l.tell
	cmd, _ := w.shell("head -c 400000000 /dev/zero | tail | wc -c")
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	await(t, "the session to be told", func() bool { return strings.Contains(l.all(), "may use 48 MiB") })
	w.endWithoutGroup()
}

// A run that was killed leaves groups, and with Landlock alone programs in them. The next run ends both.
func TestSweepRemovesGroupsOfKilledRun(t *testing.T) {
	w := bounded(t, newWorld, Limits{Processes: 30})
	g := w.groups()
	left := g.make("t"+rand.Text(), Limits{Processes: 30}, &notices{}, w.cfg.Log)
	close(left.stop)
	entered := left.enter([]string{"/bin/sleep", "1000"})
	cmd := exec.Command(entered[0], entered[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the program to enter", func() bool { return len(processesOf(left.dirs[0])) > 0 })
	dirs := append([]string{}, left.dirs...)
	New(Config{Dir: w.cfg.Dir + "-other", Log: w.cfg.Log}).SweepGroups()
	if len(processesOf(dirs[0])) == 0 {
		t.Error("another hub ended the program")
	}
	w.SweepGroups()
	_ = cmd.Wait()
	for _, dir := range dirs {
		if isThere(dir) {
			t.Error("it is left behind: ", dir)
		}
	}
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it waits in vain for ", what)
		}
	}
}
