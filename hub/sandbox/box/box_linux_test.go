package box

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// world is a data directory with boxes, and a directory of a session.
type world struct {
	*Boxes
	t         testing.TB
	data, dir string
	policy    *sandbox.Policy
}

// newWorld skips the test where boxes do not work.
func newWorld(t testing.TB, change ...func(*Config)) *world {
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
	t.Cleanup(w.Close)
	w.policy = &sandbox.Policy{Session: "s1", Write: []string{w.dir}, Network: sandbox.Closed}
	if err := w.try(sandbox.Closed); err != nil {
		unless(t, "boxes do not work here: "+err.Error())
	}
	return w
}

// unless skips a test for a reason that does not count where everything must be there.
func unless(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// shell is a script that has not started.
func (w *world) shell(script string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command("/bin/sh", "-c", script)
	out := &bytes.Buffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, append(os.Environ(), "HOME="+w.cfg.Home), out, out
	return cmd, out
}

// run returns what a shell script in the session's box prints.
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

func TestProgramsInBoxWorkInTheirDirectories(t *testing.T) {
	w := newWorld(t)
	w.write(w.cfg.Home+"/.gitconfig", "mine")
	w.write(w.cfg.Home+"/.agent/settings", "before")
	w.write(w.cfg.Home+"/.ssh/key", "secret")
	attached := t.TempDir()
	w.write(attached+"/picture", "seen")
	w.policy.Home, w.policy.Read = []string{".agent"}, []string{attached}
	if got, want := w.run("pwd; echo hello >made; cat made ~/.gitconfig "+attached+
		"/picture; echo after >~/.agent/settings; "+
		"touch "+attached+"/more 2>/dev/null || echo refused; ls -A ~; echo kept >~/own; hostname"),
		w.dir+"\nhello\nmineseenrefused\n.agent\n.gitconfig\nsandbox"; got != want {
		t.Errorf("it prints:\n%s\nand not\n%s", got, want)
	}
	if got := w.read(w.dir + "/made"); got != "hello\n" {
		t.Error("the file has ", got)
	}
	if got := w.read(w.cfg.Home + "/.agent/settings"); got != "after\n" {
		t.Error("the agent's settings are ", got)
	}
	w.run("touch /tmp/mark")
	w.End("s1")
	if got := w.run("cat ~/own; ls /tmp | grep mark; true"); got != "kept" {
		t.Error("of the session's home directory there is ", got)
	}
	if isThere(w.cfg.Home + "/own") {
		t.Error("the user's home directory was written")
	}
}

func TestWorktreeLeavesWhatRunsProgramsOutside(t *testing.T) {
	w := newWorld(t)
	repo, tree := t.TempDir(), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", repo},
			args...)...)
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
	for _, name := range []string{"config", "hooks/pre-commit", "modules/a", "worktrees/other/commondir",
		"worktrees/other/HEAD", "worktrees/mine/commondir", "worktrees/mine/gitdir", "worktrees/mine/config.worktree",
		"worktrees/third"} {
		if got := w.run("echo x 2>/dev/null >" + repo + "/.git/" + name + " || echo refused"); got != "refused" {
			t.Errorf("%s can be written", name)
		}
	}
	if got := w.run("git log --format=%s"); got != "two\none" {
		t.Errorf("the commits are %q", got)
	}
}

func TestProgramsOfOneSessionShareBox(t *testing.T) {
	w := newWorld(t)
	serve, _ := w.shell("echo $$ >/tmp/pid; exec cat")
	in, err := serve.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(serve, w.policy); err != nil {
		t.Fatal(err)
	}
	w.run("until [ -s /tmp/pid ]; do sleep 0.01; done; kill -0 $(cat /tmp/pid)")
	other := *w.policy
	other.Session = "s2"
	cmd, out := w.shell("ls /tmp | grep pid; ls /proc | grep -c '^[0-9]'")
	if err := w.Start(cmd, &other); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != "4" { // its holder, sh, ls, grep
		t.Errorf("another session sees %q, %v", out, err)
	}
	in.Close()
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}

func TestExitCodeAndSignalsPassThroughBox(t *testing.T) {
	w := newWorld(t)
	cmd, _ := w.shell("exit 42")
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 42 {
		t.Error("a program that exits with 42: ", cmd.ProcessState)
	}
	cmd, _ = w.shell("trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	if sid, err := unix.Getsid(cmd.Process.Pid); err != nil || sid != cmd.Process.Pid {
		t.Error("the program is in the terminal session of the hub: ", sid, err)
	}
	lines := bufio.NewReader(out)
	if line, _ := lines.ReadString('\n'); line != "ready\n" {
		t.Fatal("it says ", line)
	}
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if line, _ := lines.ReadString('\n'); line != "asked\n" {
		t.Error("after SIGTERM it says ", line)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Error("a program that handles SIGTERM: ", cmd.ProcessState)
	}
}

func TestProgramGetsItsDescriptorsAndNoOthers(t *testing.T) {
	w := newWorld(t)
	r, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd, out := w.shell("echo told >&3; ls /proc/self/fd")
	cmd.ExtraFiles = []*os.File{wr}
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	wr.Close()
	if b, _ := io.ReadAll(r); string(b) != "told\n" {
		t.Errorf("descriptor 3 brings %q", b)
	}
	if err := cmd.Wait(); err != nil || strings.Join(strings.Fields(out.String()), " ") != "0 1 2 3 4" { // 4 is of ls
		t.Errorf("it has %q, %v", out, err)
	}
}

func TestTerminalOfBoxIsItsOwn(t *testing.T) {
	w := newWorld(t)
	pty, tty, err := w.OpenTerminal(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	cmd, _ := w.shell("tty; ls /dev/pts; echo typed >/dev/tty")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = w.Start(cmd, w.policy)
	tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pty)
	for _, want := range []string{"/dev/pts/0", "0  ptmx", "typed"} {
		if line, err := lines.ReadString('\n'); strings.TrimSpace(line) != want {
			t.Errorf("the terminal prints %q and not %q: %v", line, want, err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestPtyOfHostileHolderIsRefused(t *testing.T) {
	null, err := unix.Open("/dev/null", unix.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(null)
	master, slave, err := openPty()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll([]int{master, slave})
	other, another, err := openPty()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll([]int{other, another})
	path, err := unix.Open("/dev/ptmx", unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(path)
	if !isPty(master, slave) {
		t.Error("a pseudo terminal is refused")
	}
	for name, ends := range map[string][2]int{"two devices": {null, null}, "ends of two": {master, another},
		"the wrong way round": {slave, master}, "one end twice": {slave, slave}, "a path": {path, slave}} {
		if isPty(ends[0], ends[1]) {
			t.Errorf("%s: taken for a pseudo terminal", name)
		}
	}
	for name, fd := range map[string]int{"a device": null, "a terminal": slave} {
		again, err := unix.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tcpConn(again); err == nil {
			t.Errorf("%s: taken for a connection", name)
		}
	}
}

func TestBoxEndsWithHub(t *testing.T) {
	w := newWorld(t)
	in, err := w.enter(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	cmd, _ := w.shell("trap '' TERM HUP INT; setsid sleep 1000 & echo; wait")
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
	in.control.Close() // as when the hub is killed
	if _, err := io.Copy(io.Discard, out); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	} // until every program is gone that could write
	<-in.gone
	_ = cmd.Wait()
	if got := w.run("echo anew"); got != "anew" {
		t.Error("the next program prints ", got)
	}
}

func TestChangedPolicyEndsWhatRuns(t *testing.T) {
	w := newWorld(t)
	cmd, _ := w.shell("sleep 1000")
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	w.policy.Write = append(w.policy.Write, t.TempDir())
	w.run("ls " + w.policy.Write[1])
	if err := cmd.Wait(); err == nil {
		t.Error("the program by the former policy ended as if nothing was")
	}
}

func TestBoxEndsWhenNothingRunsInIt(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Linger = time.Millisecond })
	in, err := w.enter(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	w.run("true")
	w.leave(in)
	<-in.gone
	if got := w.run("echo anew"); got != "anew" {
		t.Error("the next program prints ", got)
	}
}

func TestPolicyOpensNeitherDataNorHome(t *testing.T) {
	w := newWorld(t)
	below := filepath.Join(w.data, "worktrees", "other")
	w.write(below+"/x", "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		w.data: "ahphub", below: "ahphub", filepath.Dir(w.data): "Choose a directory below it",
		w.cfg.Home: "home directory",
		"/":        "home directory", "/var": "shared", "/usr": "system", "/etc/ssl": "system",
		"/proc": "system", link: "symbolic link", "/nowhere": "no such file",
	} {
		w.policy.Write = []string{path}
		if why := w.refused("true"); !strings.Contains(why, want) {
			t.Errorf("%s: %s", path, why)
		}
	}
	w.policy.Write, w.policy.Own, w.dir = []string{below}, []string{"other"}, below
	w.run("test -e x")
}

func TestLinkLeftInHomeLeadsMountsNowhere(t *testing.T) {
	w := newWorld(t)
	w.run("ln -s /proc/1/root ~/.config; ln -s " + w.data + " ~/deep")
	w.End("s1")
	w.write(w.cfg.Home+"/.config/agent/settings", "mine")
	w.write(w.cfg.Home+"/deep/project/file", "here")
	w.policy.Home = []string{".config/agent"}
	w.policy.Write = []string{w.cfg.Home + "/deep/project"}
	w.dir = w.policy.Write[0]
	if got := w.run("cat ~/.config/agent/settings file"); got != "minehere" {
		t.Error("it prints ", got)
	}
	if isThere(w.data + "/project") {
		t.Error("the data directory was written")
	}
}

func TestRelayBringsNamedPortsAlone(t *testing.T) {
	said := make(chan string, 1)
	w := newWorld(t, func(c *Config) {
		c.Services = map[string]func(net.Conn){"mcp": func(conn net.Conn) {
			line, _ := bufio.NewReader(conn).ReadString('\n')
			said <- line
			fmt.Fprintln(conn, "service")
			conn.Close()
		}}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "model")
			conn.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	w.policy.Relays = []sandbox.Relay{{Port: 29137, To: "mcp"}, {Port: port, To: l.Addr().String()}}
	const ask = `exec 3<>/dev/tcp/127.0.0.1/%d && echo asked >&3 && cat <&3`
	script := func(port int) string { return "bash -c '" + fmt.Sprintf(ask, port) + "'" }
	if got := w.run(script(port)); got != "model" {
		t.Error("the named port brings ", got)
	}
	if got := w.run(script(29137)); got != "service" {
		t.Error("the service brings ", got)
	}
	if line := <-said; line != "asked\n" {
		t.Error("the service was told ", line)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, number, _ := net.SplitHostPort(other.Addr().String())
	n, _ := strconv.Atoi(number)
	if got := w.run(script(n) + " 2>/dev/null || echo refused"); got != "refused" {
		t.Error("a port that is not named brings ", got)
	}
}

func TestOpenNetworkHasNoLoopbackOfHost(t *testing.T) {
	w := newWorld(t)
	if why := w.Report().Open; why != "" {
		unless(t, why)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	w.policy.Network = sandbox.Open
	if got := w.run("ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev; bash -c ': <>/dev/tcp/127.0.0.1/" + port +
		"' 2>/dev/null || echo refused"); got != "2\nrefused" {
		t.Errorf("it prints %q", got)
	}
}

func TestReportSaysWhatToInstall(t *testing.T) {
	w := newWorld(t)
	if r := w.Report(); !r.Works() {
		t.Error(r.Namespace)
	}
	t.Setenv("PATH", t.TempDir())
	if r := New(w.cfg).Report(); r.Works() || !strings.Contains(r.Namespace, "apt-get install bubblewrap") {
		t.Errorf("without bubblewrap: %+v", r)
	}
}
