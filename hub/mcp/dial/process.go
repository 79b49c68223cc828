package dial

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/environ"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

const (
	graceLeave = time.Second // from closing its input to SIGTERM, and from there to SIGKILL
	graceEnd   = 300 * time.Millisecond
)

// process is a server started here, in a process group of its own, so that its children end with
// it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	words  *lastWords
	gone   chan struct{}
	err    error // the result, once gone
	once   sync.Once
}

// startServer starts a server's program, whose expanded command is c.
func (d Dialer) startServer(c machine.ServerCommand, spec machine.ServerSpec) (*process, error) {
	path, err := exec.LookPath(c.Argv[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	if strings.ContainsRune(c.Argv[0], filepath.Separator) && !filepath.IsAbs(c.Argv[0]) {
		path, err = exec.LookPath(filepath.Join(c.Dir, c.Argv[0]))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start its program %s: %w", c.Argv[0], err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p := &process{stdout: r, words: &lastWords{tell: spec.Stderr}, gone: make(chan struct{})}
	p.cmd = exec.Command(path, c.Argv[1:]...)
	p.cmd.Dir, p.cmd.Env = c.Dir, serverEnvironment(c.Env, d.Pass)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = w, p.words, time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = d.start(p.cmd, spec.Sandbox)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("its program %s cannot be started: %w", c.Argv[0], err)
	}
	go p.wait() // ends with the process, which stop ends
	return p, nil
}

func (d Dialer) start(cmd *exec.Cmd, policy *sandbox.Policy) error {
	if d.Start == nil && policy == nil {
		return cmd.Start()
	}
	if d.Start == nil {
		return errors.New("its sandbox is not set up")
	}
	return d.Start(cmd, policy)
}

// serverEnvironment returns a server's environment: the usual variables, those the host passes on,
// and those set for it.
func serverEnvironment(set map[string]string, pass []string) (env []string) {
	for _, kv := range environ.Inherit(pass) {
		name, _, _ := strings.Cut(kv, "=")
		if _, own := set[name]; !own {
			env = append(env, kv)
		}
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // the rest of its group
	close(p.gone)
}

// stop closes the server's input, then sends signals, and waits until its group has ended.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.stdin.Close()
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t := time.NewTimer(graceLeave)
			select {
			case <-p.gone:
			case <-t.C:
				_ = syscall.Kill(-p.cmd.Process.Pid, s)
			}
			t.Stop()
		}
	})
	<-p.gone
}

// hasEnded reports whether the server ended by itself. It waits briefly, because its last output and
// its end do not arrive together.
func (p *process) hasEnded() bool {
	t := time.NewTimer(graceEnd)
	defer t.Stop()
	select {
	case <-p.gone:
		return true
	case <-t.C:
		return false
	}
}

// explain describes how the server ended, with its last output.
func (p *process) explain(err error) error {
	<-p.gone
	how := "its program ended"
	if err != nil {
		how = "its program does not speak the Model Context Protocol: " + err.Error()
	} else if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		how = "its program ended: " + exit.Error()
	}
	if words := p.words.String(); words != "" {
		return fmt.Errorf("%s. It said: %s", how, words)
	}
	return errors.New(how)
}

// lastWords passes on a server's standard error and keeps its end.
type lastWords struct {
	agent.Tail
	tell func(string) // may be nil
}

func (w *lastWords) Write(b []byte) (int, error) {
	if w.tell != nil {
		w.tell(string(b[:min(len(b), 500)]))
	}
	return w.Tail.Write(b)
}
