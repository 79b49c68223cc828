package acp

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	graceStop = 2 * time.Second // from SIGTERM to SIGKILL
	graceRead = time.Second     // for output written just before the end
)

// programs counts running programs.
var programs atomic.Int64

// Programs returns how many programs of agents run on this computer.
func Programs() int64 { return programs.Load() }

// process is a program in a process group of its own, so that its children end with it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	words  *lastWords
	exited chan struct{} // closed when the program and its group have ended
	err    error         // the result, once exited
	killed atomic.Bool
}

func startProcess(prog Program, launch launcher, limits Limits, dir string, log *slog.Logger) (*process,
	error) {
	path, err := find(prog.Command)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p := &process{stdout: r, words: &lastWords{log: log, hide: prog.hide}, exited: make(chan struct{})}
	p.cmd = exec.Command(path, prog.Args...)
	p.cmd.Dir, p.cmd.Env = dir, environment(os.Environ(), prog, filepath.Dir(path))
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = w, p.words, graceRead
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = launch(p.cmd, limits.wrap(scopes(), nil))
	}
	if err == nil {
		err = limits.bind(p.cmd.Process.Pid, log)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	programs.Add(1)
	return p, nil
}

// find makes a command's path absolute, because the agent runs in another directory.
func find(command string) (string, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// wait ends the rest of the group when the program has ended. After that, processes that still hold
// the output do not block its reader.
func (p *process) wait() {
	err := p.cmd.Wait()
	p.signal(syscall.SIGKILL)
	_ = p.stdout.SetReadDeadline(time.Now().Add(graceRead))
	if !errors.Is(err, exec.ErrWaitDelay) {
		p.err = err
	}
	programs.Add(-1)
	close(p.exited)
}

func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// kill ends the program without waiting.
func (p *process) kill() {
	p.killed.Store(true)
	if !p.isGone() {
		p.signal(syscall.SIGKILL)
	}
}

// stop asks the program to exit, and kills it after a grace period.
func (p *process) stop() {
	_ = p.stdin.Close()
	if !p.isGone() {
		p.signal(syscall.SIGTERM)
	}
	t := time.NewTimer(graceStop)
	defer t.Stop()
	select {
	case <-p.exited:
	case <-t.C:
		p.kill()
		<-p.exited
	}
}

func (p *process) isGone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// describeEnd describes the program's end for people.
func (p *process) describeEnd() string {
	if !p.isGone() {
		return "stopped answering"
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return "was ended by a signal (" + status.Signal().String() + ")"
		}
		return "exited with " + strings.TrimPrefix(exit.Error(), "exit ")
	}
	return "exited"
}

const (
	mostLogged  = 200 // lines of it in the log
	mostLogLine = 500 // bytes of each
)

// lastWords logs a program's standard error, up to a limit, and keeps its end.
type lastWords struct {
	agent.Tail
	log  *slog.Logger
	hide func(string) string // nil: nothing is hidden

	mu     sync.Mutex
	logged int
}

func (w *lastWords) Write(b []byte) (int, error) {
	text := string(b)
	if w.hide != nil {
		text = w.hide(text)
	}
	w.mu.Lock()
	for line := range strings.Lines(text) {
		if w.logged++; w.logged <= mostLogged {
			w.log.Info("an agent wrote to standard error", "stderr", texts.ElideBytes(strings.TrimSpace(line),
				mostLogLine))
		}
	}
	w.mu.Unlock()
	if _, err := w.Tail.Write([]byte(text)); err != nil {
		return 0, err
	}
	return len(b), nil
}
