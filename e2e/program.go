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

// Options configure the program's start.
type Options struct {
	Demo bool     // ahphub demo, which has its own data directory
	Args []string // after "serve", as {"--agent", "script"}
	Env  []string // additional environment, as "AHPHUB_LOG_LEVEL=debug"; HOME is a new directory unless set here
	Data string   // data directory; default: a temporary one
	Dir  string   // working directory; default: a temporary one

	Boxed bool // sessions run in sandboxes where those work, as for users

	Node bool // a node of a cluster: Args have --cluster. It prints a sign-in link only while it leads

	Group string              // control group directory to run in; "": the test's own
	As    *syscall.Credential // user to run as; default: the tests' user
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

// patience is a test's timeout for immediate events, including the start of third-party agents,
// which took 18 s on two busy cores. Only failing tests wait that long.
const patience = 45 * time.Second

// builtIn is the directory of binary, "" until a test needs it.
var builtIn string

// binary is built once for the tests of one package.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ahphub-e2e-*")
	if err != nil {
		return "", err
	}
	builtIn = dir
	lookAtSources()
	if err := os.Chmod(dir, 0o755); err != nil { // for tests that run it as another user
		return "", err
	}
	path := filepath.Join(dir, "ahphub")
	out, err := exec.Command("go", "build", "-o", path, "github.com/ahphub/ahphub/cmd/ahphub").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// lookAtSources reads the directories that the program is built from: `go test` caches a result
// until a file changes that the test read, and it does not see what `go build` reads.
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

// Main runs a package's tests, ends their browsers and removes what Binary built: call it in
// TestMain. It fails if the program sent a client of package peer a frame that its protocol version
// does not allow.
func Main(m *testing.M) int {
	code := wire.Main(m)
	stopBrowsers()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	return code
}

// Start starts the program on a free port and waits until it prints its address.
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

// unboxed returns the setting of tests that do not set up sandboxes: none. They inspect their
// sessions' processes and files from outside, and boxes for hundreds of sessions would take
// minutes. Sandbox tests enable them, and AHPHUB_E2E_SANDBOX=auto enables them for all tests.
func unboxed() string { return "AHPHUB_SANDBOX=" + cmp.Or(os.Getenv("AHPHUB_E2E_SANDBOX"), "none") }

// household returns the environment of a new user: the machine's own shell, git and agents are
// neither read nor written, and the shell has a known prompt. Go's build cache is shared; otherwise
// every `go test` in a terminal would compile the standard library first.
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
	if os.Getenv("AHPHUB_E2E_SANDBOX") == "" { // otherwise the box does not have it, and Go compiles for itself
		env = append(env, "GOCACHE="+cache)
	}
	return env
}

// goCache returns Go's build cache. It runs go env once per test binary.
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

// readLines sends the printed lines once the last known line appears or the program ends, and then
// discards the rest.
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

// clean returns an environment without settings of the user who runs the tests.
func clean(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return strings.HasPrefix(e, "AHPHUB_") || strings.HasPrefix(e, "XDG_CONFIG_HOME=")
	})
}

// checkPrompt fails the test if something took so long that a timer must have caused it: the
// shortest, a heartbeat, is 25 s. The promise is two seconds, which a busy machine cannot keep:
// anything slower is reported at the end of the run (LATE:), even if the test passes.
func checkPrompt(t testing.TB, what string, since time.Time) {
	t.Helper()
	if took := time.Since(since); took > 15*time.Second {
		t.Errorf("%s took %v", what, took)
	} else if took > 2*time.Second {
		t.Logf("LATE: %s took %v, and 2s are promised", what, took)
	}
}

// Pid returns the process id, for measurements.
func (p *Program) Pid() int { return p.cmd.Process.Pid }

// Log returns the log so far, across restarts.
func (p *Program) Log() string { return p.log.String() }

// Kill9 kills the program, like a crash.
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

// Stop stops the program, and fails the test if that takes over 5 s or logs errors.
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

// Token returns the owner's token for clients of the protocol.
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

// SignIn returns a new one-time address, as printed by `ahphub link`.
func (p *Program) SignIn() string {
	p.t.Helper()
	out, err := p.Command("link", "--data", p.Data)
	if err != nil {
		p.t.Fatalf("ahphub link: %v\n%s", err, out)
	}
	return strings.TrimPrefix(strings.TrimSpace(out), "sign_in=")
}

// Command runs another ahphub while the program runs and returns its output.
func (p *Program) Command(args ...string) (string, error) {
	return Command(p.t, p.opts.Env, args...)
}

// Command runs ahphub with arguments and returns its combined output.
func Command(t testing.TB, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(t), args...)
	cmd.Env = append(clean(os.Environ()), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Get requests a path from the program and returns status and body.
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

// log keeps the program's output; the last 64 KiB are shown.
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
