package terminal

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// screen collects a terminal's actions and lets a test wait for them.
type screen struct {
	mu      sync.Mutex
	actions []ahp.Action
	changed chan struct{}
}

func newScreen() *screen { return &screen{changed: make(chan struct{}, 1)} }

func (s *screen) emit(a []ahp.Action) {
	s.mu.Lock()
	s.actions = append(s.actions, a...)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *screen) all() []ahp.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.actions[:len(s.actions):len(s.actions)]
}

func (s *screen) text() string { t, _ := content(s.all()); return t }

func (s *screen) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-s.changed:
		case <-deadline:
			t.Fatalf("waited for %s in vain; got\n%s", what, lines(s.all()))
		}
	}
}

func (s *screen) waitText(t *testing.T, want string) {
	t.Helper()
	s.wait(t, want, func() bool { return strings.Contains(s.text(), want) })
}

func finish(t *testing.T, p *Process) int {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the terminal does not end")
	}
	code, ok := p.ExitCode()
	if !ok {
		t.Fatal("no exit code after the end")
	}
	return code
}

var launch = Launcher{Start: (*exec.Cmd).Start}

func start(t *testing.T, spec Spec, s *screen) *Process {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	p, err := Start(spec, launch, s.emit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		finish(t, p)
	})
	return p
}

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestOutputAndExitCode(t *testing.T) {
	s := newScreen()
	dir := t.TempDir()
	p := start(t, Spec{Command: sh(`echo "$GREETING from $(pwd)"; printf 'a\342\202\254\377\n'; exit 7`), Dir: dir,
		Env: []string{"GREETING=hello"}}, s)
	if code := finish(t, p); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	real, _ := filepath.EvalSymlinks(dir)
	if want := "hello from " + real + "\r\na€\uFFFD\r\n"; s.text() != want {
		t.Errorf("output %q, want %q", s.text(), want)
	}
	all := s.all()
	last, ok := all[len(all)-1].(*ahp.TerminalExitedAction)
	if !ok || *last.ExitCode != 7 {
		t.Errorf("the last action is %s", lines(all[len(all)-1:]))
	}
	if err := p.Write([]byte("x")); err != ErrExited {
		t.Errorf("writing after the end: %v", err)
	}
}

func TestHubSettingsAreNotInherited(t *testing.T) {
	t.Setenv("AHPHUB_TOKEN", "secret")
	t.Setenv("GH_TOKEN", "secret")
	t.Setenv("MY_SETTING", "passed")
	s := newScreen()
	finish(t, start(t, Spec{Command: []string{"env"}, Pass: []string{"MY_*", "AHPHUB_*"}}, s))
	if strings.Contains(s.text(), "secret") {
		t.Error("a secret of the hub is in a terminal's environment")
	}
	if !strings.Contains(s.text(), "MY_SETTING=passed") {
		t.Error("a variable that is passed on is not in the terminal's environment")
	}
	if !strings.Contains(s.text(), "TERM=xterm-256color") {
		t.Error("TERM is not set")
	}
}

func TestSizes(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: sh(`stty size; read x; stty size`), Cols: 100, Rows: 30}, s)
	s.waitText(t, "30 100")
	for _, size := range [][2]int{{0, 24}, {80, 0}, {-1, 24}, {1001, 24}, {80, 1 << 20}} {
		if err := p.Resize(size[0], size[1]); err == nil || !strings.Contains(err.Error(), "between 1 and 1000") {
			t.Errorf("resizing to %v: %v", size, err)
		}
		if _, err := Start(Spec{Command: sh("true"), Dir: t.TempDir(), Cols: size[0], Rows: size[1]}, launch,
			s.emit); err == nil {
			t.Errorf("a terminal of size %v was started", size)
		}
	}
	if err := p.Resize(132, 43); err != nil {
		t.Fatal(err)
	}
	if err := p.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	s.waitText(t, "43 132")
}

func TestStartRefusals(t *testing.T) {
	if _, err := Start(Spec{Dir: "/does/not/exist"}, launch, nil); err == nil ||
		!strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("a missing directory: %v", err)
	}
	if _, err := Start(Spec{Command: []string{"/no/such/program"}, Dir: t.TempDir()}, launch, nil); err == nil {
		t.Error("a missing program was started")
	}
}

func TestControlC(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: sh(`trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 1; done`)}, s)
	s.waitText(t, "ready")
	if err := p.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	if code := finish(t, p); code != 3 || !strings.Contains(s.text(), "caught") {
		t.Errorf("exit code %d, output %q", code, s.text())
	}
}

func TestKillEndsProcessesThatIgnoreSignals(t *testing.T) {
	s := newScreen()
	// The background process is in its own group, like a shell's jobs.
	p := start(t, Spec{
		Command: []string{"bash", "-mc",
			`trap '' HUP TERM INT; bash -c 'trap "" HUP TERM; echo child $$; while :; do sleep 0.1; done' & echo parent; while :; do wait; done`},
		Grace: 50 * time.Millisecond,
	}, s)
	s.waitText(t, "parent")
	s.waitText(t, "child")
	members := p.members()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := finish(t, p); code != 128+9 {
		t.Errorf("exit code %d, want 137", code)
	}
	if runtime.GOOS == "linux" && len(members) < 2 {
		t.Errorf("the terminal's processes are %v", members)
	}
	deadline := time.After(10 * time.Second)
	for _, pid := range members {
		for sessionAlive(pid) {
			select {
			case <-deadline:
				t.Fatalf("process %d is still alive", pid)
			default:
				runtime.Gosched()
			}
		}
	}
}

func TestEndDoesNotWaitForLeftovers(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: []string{"bash", "-c", `trap '' HUP; sleep 100 & echo pid=$!=; exit 5`}}, s)
	begun := time.Now()
	if code := finish(t, p); code != 5 || time.Since(begun) > 10*time.Second {
		t.Errorf("exit code %d after %v", code, time.Since(begun))
	}
	_, after, _ := strings.Cut(s.text(), "pid=")
	pid, _, _ := strings.Cut(after, "=")
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatalf("no pid in %q", s.text())
	}
	_ = syscall.Kill(n, syscall.SIGKILL)
}

func TestKillAtOnce(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: []string{"sleep", "1000"}}, s)
	begun := time.Now()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := finish(t, p); code != 129 || time.Since(begun) > DefaultGrace {
		t.Errorf("exit code %d after %v, want 129 at once", code, time.Since(begun))
	}
}

func TestBinaryJunk(t *testing.T) {
	s := newScreen()
	finish(t, start(t, Spec{Command: sh(`head -c 300000 /dev/urandom`)}, s))
	for _, a := range s.all() {
		if d, ok := a.(*ahp.TerminalDataAction); ok && !utf8.ValidString(d.Data) {
			t.Fatalf("not UTF-8: %q", d.Data)
		}
	}
	if len(s.text()) < 100000 {
		t.Errorf("%d bytes came through", len(s.text()))
	}
}

var flood = flag.Int("flood", 64, "megabytes of output that TestAFloodIsBoundedMergedAndPaced takes")

func TestFloodIsBoundedMergedAndPaced(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MB of output and more")
	}
	var sent, content, peak, actions, small int
	var last string
	begun := time.Now()
	p, err := Start(Spec{Command: sh(fmt.Sprintf("yes | head -n %d; printf end", *flood<<20/len("y\r\n"))),
		Dir: t.TempDir()}, launch, func(step []ahp.Action) {
		for _, a := range step {
			switch a := a.(type) {
			case *ahp.TerminalClearedAction:
				content = 0
			case *ahp.TerminalDataAction:
				actions++
				content += len(a.Data)
				sent += len(a.Data)
				last = last[max(0, len(last)-20):] + a.Data
				if len(a.Data) < 512 {
					small++
				}
			}
		}
		peak = max(peak, content)
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(time.Duration(*flood) * 2 * time.Second):
		t.Fatal("the flood does not end")
	}
	if !strings.HasSuffix(last, "y\r\nend") {
		t.Errorf("the end did not come through: %q", last[max(0, len(last)-20):])
	}
	if peak > DefaultScrollback {
		t.Errorf("content grew to %d bytes", peak)
	}
	if most := int(time.Since(begun).Seconds()*paceBytes) + 2*DefaultScrollback; sent > most {
		t.Errorf("%d bytes were sent in %v", sent, time.Since(begun))
	}
	if small > actions/10+2 {
		t.Errorf("%d of %d actions are tiny: output is not merged", small, actions)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MB of heap after it", m.HeapAlloc>>20)
	}
	t.Logf("%d MB of output in %v, of which %d MB were sent; %d MB of heap after it", *flood, time.Since(begun),
		sent>>20, m.HeapAlloc>>20)
}

func TestBackPressureHoldsTheProgram(t *testing.T) {
	gate, s := make(chan struct{}), newScreen()
	p, err := Start(Spec{Command: sh(`head -c 3000000 /dev/zero | tr '\0' x; echo end`), Dir: t.TempDir()}, launch,
		func(a []ahp.Action) {
			<-gate
			s.emit(a)
		})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
		t.Error("the program ended although nobody takes its output")
	case <-time.After(100 * time.Millisecond):
	}
	close(gate)
	finish(t, p)
	s.waitText(t, "end")
}

func TestInputIsBounded(t *testing.T) {
	p := start(t, Spec{Command: sh(`stty raw -echo; sleep 1000`)}, newScreen())
	block := make([]byte, 64<<10)
	for range 64 {
		if err := p.Write(block); err == ErrInputFull {
			return
		}
	}
	t.Error("4 MB of input were taken for a program that reads none")
}

// sessionAlive reports whether a process runs; zombies do not count.
func sessionAlive(pid int) bool {
	if runtime.GOOS != "linux" {
		return syscall.Kill(pid, 0) == nil
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
