package box

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

func TestProgramsOfOneSessionShareBox(t *testing.T) { inEachBox(t, checkProgramsOfOneSessionShareBox) }

func checkProgramsOfOneSessionShareBox(t *testing.T, w *world) {
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
	cmd, out := w.shell("ls /tmp | grep pid; ls /proc >/tmp/list; grep -c '^[0-9]' /tmp/list")
	if err := w.Start(cmd, &other); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != "3" { // its holder, sh, ls
		t.Errorf("another session sees %q, %v", out, err)
	}
	in.Close()
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}

func TestExitCodeAndSignalsPassThroughBox(t *testing.T) {
	inEachBox(t, checkExitCodeAndSignalsPassThroughBox)
}

func checkExitCodeAndSignalsPassThroughBox(t *testing.T, w *world) {
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
	inEachBox(t, checkProgramGetsItsDescriptorsAndNoOthers)
}

func checkProgramGetsItsDescriptorsAndNoOthers(t *testing.T, w *world) {
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
	if err := cmd.Wait(); err != nil || strings.Join(strings.Fields(out.String()), " ") != "0 1 2 3 4" { // 4 is ls's own
		t.Errorf("it has %q, %v", out, err)
	}
}

func TestTerminalOfBoxIsItsOwn(t *testing.T) { inEachBox(t, checkTerminalOfBoxIsItsOwn) }

func checkTerminalOfBoxIsItsOwn(t *testing.T, w *world) {
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
	master, slave, err := enter.OpenPty()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll([]int{master, slave})
	other, another, err := enter.OpenPty()
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

func TestBoxEndsWithHub(t *testing.T) { inEachBox(t, checkBoxEndsWithHub) }

func checkBoxEndsWithHub(t *testing.T, w *world) {
	made, err := w.enter(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	in := boxOf(made)
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

func TestChangedPolicyEndsWhatRuns(t *testing.T) { inEachBox(t, checkChangedPolicyEndsWhatRuns) }

func checkChangedPolicyEndsWhatRuns(t *testing.T, w *world) {
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
	inEachBox(t, checkBoxEndsWhenNothingRunsInIt, func(c *Config) { c.Linger = time.Millisecond })
}

func checkBoxEndsWhenNothingRunsInIt(t *testing.T, w *world) {
	made, err := w.enter(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	in := boxOf(made)
	w.run("true")
	w.leave(made)
	<-in.gone
	if got := w.run("echo anew"); got != "anew" {
		t.Error("the next program prints ", got)
	}
}
