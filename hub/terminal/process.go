package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/redact"
)

// Bounds of a terminal's traffic.
const (
	mergeFor   = 8 * time.Millisecond // output within this time is one action
	mergeBytes = 32 << 10             // and output up to this size
	drainFor   = 500 * time.Millisecond
	maxInput   = 1 << 20 // bytes not yet read by the program
)

// ErrInputFull refuses input for a program that does not read its input.
var ErrInputFull = errors.New("the program is not reading its input. Typing is refused until it does")

// ErrExited refuses actions that need a running program.
var ErrExited = errors.New("the program in this terminal has exited")

// Process is a program on a pseudo terminal. Its methods are safe for concurrent use.
type Process struct {
	cmd   *exec.Cmd
	pty   *os.File
	grace time.Duration
	plan  plan
	feed  *Feed
	most  int // limit of processes
	hide  *redact.Set
	bombs int // how often the limit was exceeded; only the guard uses it

	size sizer

	said    chan []byte // text from the hub itself
	input   chan []byte
	pending atomic.Int64  // bytes in input
	cleared atomic.Bool   // the content was emptied in the timeline
	exited  chan struct{} // closed when the program has ended; code is set
	done    chan struct{} // closed when its last output was emitted as well
	code    int
}

// Launcher starts programs. Open opens the pseudo terminal for one; nil opens the host's.
type Launcher struct {
	Start func(*exec.Cmd) error
	Open  func() (pty, tty *os.File, err error)
}

// Start runs the program, which launch starts. emit receives the actions of one step at a time, in
// order, from one goroutine. While it blocks and the terminal's buffer is full, the program blocks
// too. The last step contains terminal/exited.
func Start(spec Spec, launch Launcher, emit func([]ahp.Action)) (*Process, error) {
	spec, err := complete(spec)
	if err != nil {
		return nil, err
	}
	how, err := planFor(spec)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare a shell: %w", err)
	}
	p := &Process{
		grace:  spec.Grace,
		plan:   how,
		feed:   newFeed(spec.Cols, spec.Rows),
		most:   spec.Processes,
		hide:   spec.Hide,
		said:   make(chan []byte, 1),
		input:  make(chan []byte, 1024),
		exited: make(chan struct{}),
		done:   make(chan struct{}),
	}
	if err := p.start(spec, launch); err != nil {
		how.done()
		return nil, fmt.Errorf("cannot start %s in a terminal: %w", p.plan.argv[0], err)
	}
	out := output{
		dec:     newDecoder(p.plan.detect, p.plan.nonce, spec.Title, time.Now),
		backlog: backlog{limit: spec.Scrollback},
		emit:    emit,
		cleared: &p.cleared,
		pace:    p.feed.pace,
		said:    p.said,
	}
	out.dec.show, out.dec.note = p.feed.add, p.feed.command
	theGuard.add(p)
	go p.run(out)
	return p, nil
}

// say prints a text by the hub itself, unless one is pending.
func (p *Process) say(text string) {
	select {
	case p.said <- []byte(text):
	default:
	}
}

func (p *Process) start(spec Spec, launch Launcher) error {
	p.cmd = exec.Command(p.plan.argv[0], p.plan.argv[1:]...)
	p.cmd.Dir, p.cmd.Env = spec.Dir, append(environment(spec), p.plan.env...)
	if p.plan.script != "" {
		script, err := feed(p.plan.script)
		if err != nil {
			return err
		}
		defer script.Close()
		p.cmd.ExtraFiles = []*os.File{script}
	}
	f, err := startOnTerminal(p.cmd, &pty.Winsize{Cols: uint16(spec.Cols), Rows: uint16(spec.Rows)}, launch)
	if err != nil {
		return err
	}
	if p.pty, err = pollable(f); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	return err
}

// startOnTerminal starts cmd with launch as the leader of a session on a new pseudo terminal, and
// returns the terminal's other end.
func startOnTerminal(cmd *exec.Cmd, size *pty.Winsize, launch Launcher) (*os.File, error) {
	open := launch.Open
	if open == nil {
		open = pty.Open
	}
	f, tty, err := open()
	if err != nil {
		return nil, err
	}
	defer tty.Close() // the program has its own
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err = pty.Setsize(f, size); err == nil {
		err = launch.Start(cmd)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// pollable replaces the file by one whose Close ends a pending Read: the pty library leaves its
// file in blocking mode.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// run owns the goroutines that read, write and wait for the exit. It emits the actions, and returns
// when all have ended.
func (p *Process) run(out output) {
	defer close(p.done)
	ctx, stop := context.WithCancel(context.Background())
	chunks, wrote := make(chan []byte, 8), make(chan struct{})
	go func() { defer close(chunks); p.readHidden(ctx, chunks) }()
	go func() { defer close(wrote); p.write(ctx) }()
	go p.wait()
	out.pump(chunks, p.exited)
	<-p.exited // closing the terminal earlier would end a program that only closed its own files
	stop()
	p.size.close()
	p.pty.Close()
	for range chunks { // unblocks the reader
	}
	<-wrote
	theGuard.remove(p)
	out.finish(p.code)
	p.feed.close()
	p.plan.done()
}

// readHidden is read, with the secrets of the spec hidden.
func (p *Process) readHidden(ctx context.Context, chunks chan<- []byte) {
	if p.hide == nil {
		p.read(ctx, chunks)
		return
	}
	raw := make(chan []byte, 1)
	go func() { defer close(raw); p.read(ctx, raw) }()
	hide(ctx, p.hide, raw, chunks)
}

// read passes on the program's output, in pieces as large as available.
func (p *Process) read(ctx context.Context, chunks chan<- []byte) {
	conn, err := p.pty.SyscallConn()
	if err != nil {
		return
	}
	var buf []byte
	for over := false; !over; {
		if len(buf) < mergeBytes/4 {
			buf = make([]byte, mergeBytes)
		}
		n := 0
		err := conn.Read(func(fd uintptr) (done bool) { n, over = drain(int(fd), buf); return n > 0 || over })
		if n > 0 {
			select {
			case chunks <- buf[:n:n]:
			case <-ctx.Done():
				return
			}
			buf = buf[n:]
		}
		if err != nil {
			return
		}
	}
}

// drain reads until nothing is left, or the buffer is full: a terminal returns 4 KiB at a time.
func drain(fd int, buf []byte) (n int, over bool) {
	for n < len(buf) {
		k, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return n, false
		case err != nil || k <= 0:
			return n, true
		default:
			n += k
		}
	}
	return n, false
}

func (p *Process) wait() {
	err := p.cmd.Wait()
	p.code = exitStatus(p.cmd.ProcessState, err)
	close(p.exited)
}

// exitStatus returns the status a shell would report: 128 plus the signal for a killed program.
func exitStatus(st *os.ProcessState, err error) int {
	if st == nil {
		return -1
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// Write queues input for the program and never blocks.
func (p *Process) Write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	select {
	case <-p.exited:
		return ErrExited
	default:
	}
	if p.pending.Add(int64(len(b))) > maxInput {
		p.pending.Add(-int64(len(b)))
		return ErrInputFull
	}
	select {
	case p.input <- append([]byte(nil), b...):
		return nil
	default:
		p.pending.Add(-int64(len(b)))
		return ErrInputFull
	}
}

func (p *Process) write(ctx context.Context) {
	for {
		select {
		case b := <-p.input:
			_, err := p.pty.Write(b)
			p.pending.Add(-int64(len(b)))
			if err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (p *Process) control(f func(fd int) error) error {
	conn, err := p.pty.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := conn.Control(func(fd uintptr) { ferr = f(int(fd)) }); err != nil {
		return err
	}
	return ferr
}

func (p *Process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Clear records that the terminal's content was cleared, so that earlier output is not counted or
// shown again.
func (p *Process) Clear() {
	p.cleared.Store(true)
	p.feed.clear()
}

// Feed returns the program's output for viewers. It remains after the exit.
func (p *Process) Feed() *Feed { return p.feed }

// Done is closed when the program has ended and its last action was emitted.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode returns the exit code, or false while the program runs. For a program ended by a signal
// it is 128 plus the signal's number, as in a shell.
func (p *Process) ExitCode() (int, bool) {
	if !p.hasExited() {
		return 0, false
	}
	return p.code, true
}
