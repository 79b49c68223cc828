package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/e2e/wire"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// Options say how the program is started.
type Options struct {
	Demo bool     // ahphub demo, which has a data directory of its own
	Args []string // after "serve", as {"--agent", "script"}
	Env  []string // more environment, as "AHPHUB_LOG_LEVEL=debug"; the home is a new one unless it says another
	Data string   // data directory; default: a temporary one
	Dir  string   // where it is started; default: a temporary directory

	Boxed bool // its sessions run in sandboxes where those work, as a user's do

	Node bool // of a cluster: Args have --cluster. It prints a link to sign in only when it leads

	Group string              // directory of the control group it runs in; "": the test's own
	As    *syscall.Credential // user it runs as; default: the one who runs the tests
}

// Program is a running ahphub. It stops with its test.
type Program struct {
	URL, AHP, Data string
	Lines          map[string]string // what it printed on standard output

	t      testing.TB
	opts   Options
	cmd    *exec.Cmd
	exited chan struct{}
	log    *log
}

// patience is how long a test waits for what happens at once, or soon where a third-party agent has to start: on
// two busy cores that took 18 s. Only a test that fails waits for it.
const patience = 45 * time.Second

// builtIn is the directory of binary, "" while no test asked for it.
var builtIn string

// binary is built once for the tests of one package.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ahphub-e2e-*")
	if err != nil {
		return "", err
	}
	builtIn = dir
	lookAtSources()
	if err := os.Chmod(dir, 0o755); err != nil { // for tests that start it as another user
		return "", err
	}
	path := filepath.Join(dir, "ahphub")
	out, err := exec.Command("go", "build", "-o", path, "github.com/ahphub/ahphub/cmd/ahphub").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// lookAtSources reads the directories the program is built from: `go test` keeps a result until
// a file changes that the test looked at, and what `go build` reads it does not see.
func lookAtSources() {
	root, err := os.Getwd()
	for err == nil && filepath.Dir(root) != root {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	for _, dir := range []string{"cmd", "web", "handlers", "hub", "static", "templ"} {
		_ = filepath.WalkDir(filepath.Join(root, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
	}
}

// Binary returns the program's path, building it the first time.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatalf("the program does not build:\n%v", err)
	}
	return path
}

// Main runs a package's tests, ends their browsers and removes what Binary built: call it in TestMain. It fails
// when the program sent a client of package peer what its version of the protocol does not allow.
func Main(m *testing.M) int {
	code := wire.Main(m)
	stopBrowsers()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	return code
}

// Start starts the program on a free port and waits until it says where it is.
func Start(t testing.TB, o Options) *Program {
	t.Helper()
	if o.Data == "" {
		o.Data = filepath.Join(t.TempDir(), "data")
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Env = append(household(t), o.Env...)
	if !o.Boxed {
		o.Env = append([]string{unboxed()}, o.Env...)
	}
	p := &Program{t: t, opts: o, Data: o.Data, log: &log{}}
	p.start(loopbacktest.Address(t))
	t.Cleanup(func() {
		closePages(t)
		p.kill(os.Interrupt)
		if t.Failed() {
			t.Logf("the program's log:\n%s", p.log.tail())
		}
	})
	return p
}

// unboxed is the setting of tests that say nothing about sandboxes: none. They look at their sessions' processes and files
// from outside, and a box for each of hundreds of sessions would cost them minutes. Tests of sandboxes switch them on, and
// AHPHUB_E2E_SANDBOX=auto does for all of them.
func unboxed() string { return "AHPHUB_SANDBOX=" + cmp.Or(os.Getenv("AHPHUB_E2E_SANDBOX"), "none") }

// household is the environment of a new user: nothing of the machine's own shell, git and agents is
// read or written, and a shell says when it waits for a line. What Go has compiled is shared, or every `go test` in a
// terminal would compile the standard library first.
func household(t testing.TB) []string {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("PS1='$ '\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache, err := goCache()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"SHELL=/bin/bash", "HOME=" + home}
	if os.Getenv("AHPHUB_E2E_SANDBOX") == "" { // else it is not in the box, where Go compiles for itself
		env = append(env, "GOCACHE="+cache)
	}
	return env
}

// goCache returns where Go keeps what it has compiled. It is asked once: each program of a test would ask again.
var goCache = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out)), err
})

func (p *Program) start(listen string) {
	p.t.Helper()
	args := []string{"serve", "--listen", listen, "--data", p.Data, "--log-level", "debug"}
	if p.opts.Demo {
		args = []string{"demo", "--listen", listen, "--log-level", "debug"}
	}
	args = append(args, p.opts.Args...)
	cmd := exec.Command(Binary(p.t), args...)
	if p.opts.Group != "" {
		cmd = exec.Command("sh", append([]string{"-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, p.opts.Group,
			Binary(p.t)}, args...)...)
	}
	cmd.Dir = p.opts.Dir
	cmd.Env = append(clean(os.Environ()), p.opts.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.opts.As}
	cmd.Stderr = p.log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.cmd, p.exited = cmd, make(chan struct{})
	lines := make(chan map[string]string, 1)
	go func(exited chan struct{}) {
		readLines(stdout, lines, p.opts.Node)
		_ = cmd.Wait()
		close(exited)
	}(p.exited)
	select {
	case p.Lines = <-lines:
	case <-time.After(patience):
		p.t.Fatalf("the program did not start:\n%s", p.log.tail())
	}
	p.Data = p.Lines["data"]
	if p.URL, p.AHP = p.Lines["url"], p.Lines["ahp"]; p.URL == "" || p.AHP == "" || p.Lines["sign_in"] == "" && !p.opts.Node {
		p.t.Fatalf("the program said %v and logged:\n%s", p.Lines, p.log.tail())
	}
}

// readLines sends what was printed once the last of the known lines is there, or the
// program ended, and then drops the rest.
func readLines(r io.Reader, done chan<- map[string]string, node bool) {
	got := map[string]string{}
	last := "key_file"
	if node {
		last = "node"
	}
	scan := bufio.NewScanner(r)
	sent := false
	for scan.Scan() {
		if k, v, ok := strings.Cut(scan.Text(), "="); ok && !sent {
			got[k] = v
			if k == last {
				sent = true
				done <- got
			}
		}
	}
	if !sent {
		done <- got
	}
}

// clean is an environment without settings of the person who runs the tests.
func clean(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return strings.HasPrefix(e, "AHPHUB_") || strings.HasPrefix(e, "XDG_CONFIG_HOME=")
	})
}

// checkPrompt fails the test when something came so late that a timer must have brought it: the shortest of those that
// would, a heartbeat, is 25 s. The promise is two seconds, which a busy machine cannot keep: what takes longer is shown
// at the end of the run (LATE:), also when the test passes.
func checkPrompt(t testing.TB, what string, since time.Time) {
	t.Helper()
	if took := time.Since(since); took > 15*time.Second {
		t.Errorf("%s took %v", what, took)
	} else if took > 2*time.Second {
		t.Logf("LATE: %s took %v, and 2s are promised", what, took)
	}
}

// Pid is the process, for figures about it.
func (p *Program) Pid() int { return p.cmd.Process.Pid }

// Log returns the log so far, across restarts.
func (p *Program) Log() string { return p.log.String() }

// Kill9 ends the program as a crash does.
func (p *Program) Kill9() {
	p.t.Helper()
	p.kill(syscall.SIGKILL)
}

// Restart starts the program again at the same address with the same data.
func (p *Program) Restart() {
	p.t.Helper()
	u, err := url.Parse(p.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	p.start(u.Host)
}

// Stop asks the program to end, and fails the test when it takes over 5 s or complains.
func (p *Program) Stop() {
	p.t.Helper()
	start := time.Now()
	p.kill(syscall.SIGTERM)
	if took := time.Since(start); took > 5*time.Second {
		p.t.Errorf("stopping took %v", took)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("the program ended with status %d:\n%s", code, p.log.tail())
	}
}

func (p *Program) kill(sig os.Signal) {
	select {
	case <-p.exited:
		return
	default:
	}
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		p.t.Errorf("the program did not end by %v:\n%s", sig, stacks(p))
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// stacks makes the program print its goroutines.
func stacks(p *Program) string {
	if runtime.GOOS != "windows" {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case <-p.exited:
		case <-time.After(2 * time.Second):
		}
	}
	return p.log.tail()
}

// Token is the owner's token, for clients of the protocol.
func (p *Program) Token() string {
	p.t.Helper()
	for _, variable := range p.opts.Env {
		if token, ok := strings.CutPrefix(variable, "AHPHUB_TOKEN="); ok {
			return token
		}
	}
	b, err := os.ReadFile(p.Lines["token_file"])
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// SignIn returns a new one-time address, as `ahphub link` prints it.
func (p *Program) SignIn() string {
	p.t.Helper()
	out, err := p.Command("link", "--data", p.Data)
	if err != nil {
		p.t.Fatalf("ahphub link: %v\n%s", err, out)
	}
	return strings.TrimPrefix(strings.TrimSpace(out), "sign_in=")
}

// Command runs another ahphub beside the program and returns what it printed.
func (p *Program) Command(args ...string) (string, error) {
	return Command(p.t, p.opts.Env, args...)
}

// Command runs ahphub with arguments and returns what it printed on both outputs.
func Command(t testing.TB, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(t), args...)
	cmd.Env = append(clean(os.Environ()), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Get asks the program for a path and returns status and body.
func (p *Program) Get(path string) (int, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// log keeps what the program wrote; the last 64 KiB of it are shown.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *log) tail() string {
	s := l.String()
	return s[max(0, len(s)-64<<10):]
}
