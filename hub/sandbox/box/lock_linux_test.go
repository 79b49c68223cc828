package box

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// newLockWorld returns a world that uses Landlock. It skips the test if Landlock does not work.
func newLockWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	w := newWorldOf(t, sandbox.Landlock, change...)
	if err := w.try(&sandbox.Policy{Mode: sandbox.Landlock, Network: sandbox.Closed}); err != nil {
		t.Skip("Landlock does not work here: " + err.Error())
	}
	return w
}

// leak is a way out that Landlock alone leaves open.
type leak struct {
	closes int  // the version of Landlock that closes it; 0: none
	asUser bool // only if the hub does not run as root
}

var leaks = map[string]leak{
	"learn the size of another session's file":  {},
	"change the mode of another session's file": {},
	"signal the hub":                                     {closes: 6},
	"open a pidfd of the hub":                            {},
	"read the hub's arguments":                           {},
	"list the hub's descriptors":                         {},
	"lower the hub's priority":                           {asUser: true},
	"change the hub's resource limits":                   {},
	"use another program's System V shared memory":       {},
	"create a user namespace":                            {},
	"start a program in a user namespace":                {},
	"connect to an abstract socket":                      {closes: 6},
	"connect to another program's socket":                {closes: 9},
	"connect to the session bus":                         {closes: 9},
	"connect to the system bus":                          {closes: 9},
	"connect to a container engine":                      {closes: 9},
	"connect to a port of the host's loopback":           {closes: 4},
	"connect to a port of the host's loopback over IPv6": {closes: 4},
	"connect to the hub's port at another address":       {closes: 4},
	"exchange datagrams with the host's loopback":        {closes: 10},
}

// isOpen reports whether a version of Landlock leaves a way out open here.
func isOpen(name string, version int) bool {
	l, known := leaks[name]
	return known && (l.closes == 0 || version < l.closes) && !(l.asUser && os.Getuid() == 0)
}

func TestLandlockLeavesOpenWhatItsTableAdmits(t *testing.T) {
	t.Parallel()
	here := newLockWorld(t).Report().ABI
	for _, version := range slices.Compact([]int{lowestABI, here}) {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			runtime.LockOSThread() // whose keyring has the key
			w := newLockWorld(t, func(c *Config) { c.ABI = version })
			p := newTargets(t, w)
			w.policy.Write = append(w.policy.Write, p.Repo)
			w.policy.Seal = []string{p.Repo + "/config", p.Repo + "/hooks"}
			within := runAttempts(t, w, p, func(cmd *exec.Cmd) error { return w.Start(cmd, w.policy) })
			outside := runAttemptsOutside(t, w, p)
			for _, a := range attempts {
				how, ok := within[a.name]
				switch works, open := how == "", isOpen(a.name, version); {
				case !ok:
					t.Errorf("%s: it was not tried", a.name)
				case works && !open:
					t.Errorf("%s: this works with Landlock, and its table does not admit it", a.name)
				case !works && open && outside[a.name] == "":
					t.Errorf("%s: the table admits it, and it fails: %s", a.name, how)
				}
			}
		})
	}
}

func TestProgramsWithLandlockWorkInTheirDirectories(t *testing.T) {
	w := newLockWorld(t)
	w.write(w.cfg.Home+"/.gitconfig", "mine")
	w.write(w.cfg.Home+"/.agent/settings", "before")
	w.write(w.cfg.Home+"/.ssh/key", "secret")
	attached := t.TempDir()
	w.write(attached+"/picture", "seen")
	w.policy.Home, w.policy.Read = []string{".agent"}, []string{attached}
	if got, want := w.run("pwd; echo hello >made; cat made ~/.gitconfig "+attached+
		"/picture; echo after >~/.agent/settings; "+
		"(: >>"+attached+"/picture) 2>/dev/null || echo refused; ls -A ~; echo kept >~/own; echo x >$TMPDIR/mark; "+
		"cat "+w.cfg.Home+"/.ssh/key 2>/dev/null || echo closed; echo y >/dev/null; cat <&0"),
		w.dir+"\nhello\nmineseenrefused\n.agent\n.gitconfig\nclosed"; got != want {
		t.Errorf("it prints:\n%s\nand not\n%s", got, want)
	}
	if got := w.read(w.dir + "/made"); got != "hello\n" {
		t.Error("the file has ", got)
	}
	if got := w.read(w.cfg.Home + "/.agent/settings"); got != "after\n" {
		t.Error("the agent's settings are ", got)
	}
	w.End("s1")
	if got := w.run("cat ~/own; ls $TMPDIR"); got != "kept" {
		t.Error("of the session's home directory there is ", got)
	}
	if isThere(w.cfg.Home + "/own") {
		t.Error("the user's home directory was written")
	}
}

func TestExitCodeAndSignalsReachProgramsWithLandlock(t *testing.T) {
	w := newLockWorld(t)
	cmd, _ := w.shell("exit 42")
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 42 {
		t.Error("a program that exits with 42: ", cmd.ProcessState)
	}
	r, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd, _ = w.shell("echo told >&3; exec 3>&-; ls /proc/self/fd; trap 'exit 3' TERM; kill -TERM $$")
	out := &strings.Builder{}
	cmd.Stdout, cmd.ExtraFiles = out, []*os.File{wr}
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	wr.Close()
	if b, _ := io.ReadAll(r); string(b) != "told\n" {
		t.Errorf("descriptor 3 brings %q", b)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 3 || strings.Join(strings.Fields(out.String()), " ") != "0 1 2 3" {
		t.Errorf("a program with descriptors %q: %s", out, cmd.ProcessState)
	}
}

func TestTerminalOfLandlockOpensByItsPath(t *testing.T) {
	w := newLockWorld(t)
	other := hostPty(t)
	pty, tty, err := w.OpenTerminal(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	cmd, _ := w.shell("echo one >/dev/tty; echo two >$(tty); (: <>" + other + ") 2>/dev/null || echo closed; " +
		"stty -F /dev/tty size >/dev/null && echo three")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = w.Start(cmd, w.policy)
	tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pty)
	for _, want := range []string{"one", "two", "closed", "three"} {
		if line, err := lines.ReadString('\n'); strings.TrimSpace(line) != want {
			t.Errorf("the terminal prints %q and not %q: %v", line, want, err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The race detector notices use of the ruleset while it is being closed.
func TestTerminalOpensBesideEndWithLandlock(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t)
	in, err := w.enter(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer w.leave(in)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				pty, tty, err := in.openPty()
				if err != nil {
					if !errors.Is(err, errEnded) {
						t.Error(err)
					}
					return
				}
				pty.Close()
				tty.Close()
			}
		})
	}
	in.end()
	all.Wait()
}

func TestEndOfSessionKillsProgramsWithLandlock(t *testing.T) {
	w := newLockWorld(t)
	cmd, _ := w.shell("trap '' TERM HUP; sleep 1000 & echo; wait")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	w.policy.Write = append(w.policy.Write, t.TempDir()) // another policy ends programs of the former one
	w.run("ls " + w.policy.Write[1])
	_, _ = io.Copy(io.Discard, out) // until all programs that could write have ended
	if err := cmd.Wait(); err == nil {
		t.Error("the program by the former policy ended as if nothing was")
	}
}

func TestControlGroupEndsWhatLeftItsGroupWithLandlock(t *testing.T) {
	if g := findGroups("/proc", "/sys/fs/cgroup"); g.why != "" {
		t.Skip(g.why) // it depends on who runs the test
	}
	w := newLockWorld(t, func(c *Config) { c.Limits = Limits{Processes: 100} })
	w.policy.Session = "t" + rand.Text() // the whole computer shares control groups
	cmd, _ := w.shell("setsid sh -c 'echo; exec sleep 1000' & wait")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	w.End(w.policy.Session)
	_, _ = io.Copy(io.Discard, out) // until all programs that could write have ended
	_ = cmd.Wait()
}

func TestWorktreeWithLandlockLeavesSettingsAndHooks(t *testing.T) {
	w := newLockWorld(t)
	repo, tree := t.TempDir(), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", repo}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w.dir = filepath.Join(tree, "mine")
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	git("worktree", "add", "-q", w.dir)
	git("worktree", "add", "-q", filepath.Join(tree, "other"))
	w.policy.Write, w.policy.Git = []string{w.dir}, []string{repo + "/.git"}
	w.run("echo x >file; git add file; git -c user.name=a -c user.email=a@b commit -q -m two; git status --short")
	for _, name := range []string{"config", "config.worktree", "hooks/pre-commit", "worktrees/other/HEAD", "modules/a",
		"worktrees/third"} {
		if got := w.run("(echo x >>" + repo + "/.git/" + name + ") 2>/dev/null || echo refused"); got != "refused" {
			t.Errorf("%s can be written", name)
		}
	}
	if got := w.run("git log --format=%s"); got != "two\none" {
		t.Errorf("the commits are %q", got)
	}
}

// The plan needs no Landlock in the kernel.
func TestPlanOfLandlockSplitsWhatHoldsSealedPaths(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, sandbox.Landlock)
	for _, name := range []string{"a/deep/sealed", "a/deep/open", "a/open", "open"} {
		w.write(filepath.Join(w.dir, name), "")
	}
	if err := os.Symlink("/etc/passwd", w.dir+"/a/link"); err != nil {
		t.Fatal(err)
	}
	w.policy.Seal = []string{w.dir + "/a/deep/sealed"}
	l, err := planLock(w.cfg, w.policy, filepath.Join(w.cfg.Dir, "s1"), lowestABI)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	got := map[string]uint64{}
	for _, g := range l.grants {
		if rel, err := filepath.Rel(w.dir, g.path); err == nil && filepath.IsLocal(rel) {
			got[rel] = g.rights
		}
	}
	want := map[string]uint64{".": readRights, "a": readRights, "a/deep": readRights, "a/deep/sealed": readRights,
		"a/deep/open": writeRights, "a/open": writeRights, "open": writeRights}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it allows %v and not %v", got, want)
	}
	for _, g := range l.grants {
		if slices.Contains(closedBelow("/etc"), g.path) && g.rights != 0 {
			t.Errorf("%s is readable", g.path)
		}
	}
	w.policy.Network = "list"
	if _, err := planLock(w.cfg, w.policy, filepath.Join(w.cfg.Dir, "s1"), lowestABI); err == nil {
		t.Error("a network that Landlock cannot limit is accepted")
	}
}

func TestLandlockOpensNeitherDataNorHome(t *testing.T) {
	w := newWorldOf(t, sandbox.Landlock)
	below := filepath.Join(w.data, "worktrees", "other")
	w.write(below+"/x", "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		w.data: "ahphub", below: "ahphub", filepath.Dir(w.data): "Choose a directory below it", w.cfg.Home: "home directory",
		"/": "home directory", "/var": "shared", "/usr": "system", "/proc": "system", link: "symbolic link",
		"/nowhere": "no such file",
	} {
		w.policy.Write = []string{path}
		l, err := planLock(w.cfg, w.policy, filepath.Join(w.cfg.Dir, "s1"), lowestABI)
		if err == nil {
			l.close()
			t.Errorf("%s is opened", path)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s", path, err)
		}
	}
	w.policy.Write, w.policy.Own = []string{below}, []string{"other"}
	l, err := planLock(w.cfg, w.policy, filepath.Join(w.cfg.Dir, "s1"), lowestABI)
	if err != nil {
		t.Fatal(err)
	}
	l.close()
}
