package box

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// box is the running namespaces of one session.
type box struct {
	usage
	cfg     Config
	policy  *sandbox.Policy
	holder  *exec.Cmd
	gone    chan struct{} // closed once the holder and all programs have ended
	control *os.File      // the hub's end of the control socket
	relay   *os.File      // the hub's end of the socket for relayed connections
	asking  sync.Mutex    // one request at a time
	first   int           // a pidfd of the box's first process; 0: none yet
	holding int           // its process id
	using   sync.RWMutex  // held while the file descriptors of the entries are used
	shut    bool          // the entries are closed
	entries []*os.File    // namespaces: the outer user namespace, the inner one, then those of entryFlags
	network *exec.Cmd     // pasta; nil: none
	conns   chan struct{} // holds a value for each relayed connection
}

// entryFlags are nsenter's names of the namespaces in a box's entries, after its two user namespaces.
var entryFlags = []struct{ file, flag string }{{"mnt", "mount"}, {"net", "net"}, {"ipc", "ipc"}, {"uts", "uts"},
	{"cgroup", "cgroup"}, {"pid", "pid"}}

// start starts a box with its private files in dir, and returns once it is ready.
func start(ctx context.Context, cfg Config, p *sandbox.Policy, dir string) (*box, error) {
	b := &box{usage: usage{session: p.Session, digest: p.Digest()}, cfg: cfg, policy: p, gone: make(chan struct{}),
		conns: make(chan struct{}, mostConns)}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it was not ready within %s", startTime))
	defer cancel()
	l, err := plan(cfg, p, dir)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if err := b.hold(ctx, l); err != nil {
		return nil, err
	}
	if p.Network == sandbox.Open {
		if err := b.connect(ctx, dir); err != nil {
			b.end()
			return nil, err
		}
	}
	go b.takeConns()
	return b, nil
}

// hold starts the holder with bubblewrap.
func (b *box) hold(ctx context.Context, l *layout) (err error) {
	var ours, theirs [2]*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			b.end()
		}
	}()
	for i, name := range []string{"control", "relay"} {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_ = unix.SetNonblock(fds[0], true) // so that deadlines apply
		ours[i], theirs[i] = os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name)
	}
	b.control, b.relay = ours[0], ours[1]
	args, err := memory("arguments", []byte(strings.Join(l.args[:len(l.args)-tailOf(l.args)], "\x00")+"\x00"))
	if err != nil {
		return err
	}
	defer args.Close()
	info, told, err := os.Pipe()
	if err != nil {
		return err
	}
	defer info.Close()
	b.holder = exec.Command("bwrap", append([]string{"--info-fd", "3", "--args", "6"},
		l.args[len(l.args)-tailOf(l.args):]...)...)
	b.holder.Env, b.holder.Dir = []string{"PATH=/usr/bin:/bin"}, "/"
	b.holder.ExtraFiles = append([]*os.File{told, theirs[0], theirs[1], args}, l.files...)
	complaint := &bytes.Buffer{}
	b.holder.Stderr, b.holder.WaitDelay = &capped{w: complaint, left: 4 << 10}, time.Second
	err = spawn(b.holder)
	told.Close()
	if err != nil {
		b.holder = nil
		return err
	}
	go func() { _ = b.holder.Wait(); close(b.gone) }()
	if err = b.ready(ctx, info); err == nil {
		return nil
	}
	b.end() // also ends the writer of the complaint
	if text := strings.TrimSpace(complaint.String()); text != "" {
		return errors.New(text)
	}
	return err
}

// tailOf counts the arguments from "--" on, which bubblewrap cannot read from a file.
func tailOf(args []string) int {
	for i := len(args) - 1; i >= 0; i-- {
		if args[i] == "--" {
			return len(args) - i
		}
	}
	return 0
}

// ready opens the namespaces of the box and waits until its holder is set up.
func (b *box) ready(ctx context.Context, info *os.File) error {
	var told struct {
		Pid    int    `json:"child-pid"`
		Mounts uint64 `json:"mnt-namespace"`
	}
	deadline, _ := ctx.Deadline()
	_ = info.SetReadDeadline(deadline)
	if err := json.NewDecoder(io.LimitReader(info, 4<<10)).Decode(&told); err != nil {
		return cmp.Or(context.Cause(ctx), errors.New("bubblewrap did not start"))
	}
	text, _, err := b.receive(deadline, 0)
	switch {
	case err != nil:
		return cmp.Or(context.Cause(ctx), fmt.Errorf("its holder did not start: %w", err))
	case text != enter.SayReady:
		return errors.New(text)
	}
	return b.openEntries(told.Pid, told.Mounts)
}

// openEntries opens the namespaces of the box's first process, which has its final ones once the holder runs. Unlike a
// process id, open namespaces cannot be reused.
func (b *box) openEntries(pid int, mounts uint64) error {
	dir := fmt.Sprintf("/proc/%d/ns/", pid)
	user, err := os.Open(dir + "user")
	if err != nil {
		return err
	}
	parent, err := unix.IoctlRetInt(int(user.Fd()), unix.NS_GET_PARENT)
	if err != nil {
		user.Close()
		return fmt.Errorf("cannot find the outer user namespace: %w", err)
	}
	b.entries = []*os.File{os.NewFile(uintptr(parent), "user"), user}
	for _, e := range entryFlags {
		f, err := os.Open(dir + e.file)
		if err != nil {
			return err
		}
		b.entries = append(b.entries, f)
	}
	if b.first, err = unix.PidfdOpen(pid, 0); err != nil {
		return err
	}
	b.holding = pid
	var stat unix.Stat_t
	if err := unix.Fstat(int(b.entries[2].Fd()), &stat); err != nil || stat.Ino != mounts {
		return errors.New("bubblewrap ended while it was looked at")
	}
	return nil
}

// receive reads a message of the holder, with its file descriptors.
func (b *box) receive(deadline time.Time, most int) (text string, fds []int, err error) {
	_ = b.control.SetReadDeadline(deadline)
	return receive(b.control, most)
}

// receive reads one message of a socket. One with more than most file descriptors, or cut off, is an error.
func receive(from *os.File, most int) (text string, fds []int, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return "", nil, err
	}
	buf, oob := make([]byte, 512), make([]byte, unix.CmsgSpace(4*max(most, 1)))
	var n, got, flags int
	read := raw.Read(func(fd uintptr) bool {
		n, got, flags, _, err = unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	if err = cmp.Or(read, err); err != nil {
		return "", nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:got])
	for _, m := range messages {
		if more, bad := unix.ParseUnixRights(&m); bad == nil {
			fds = append(fds, more...)
		}
	}
	if n == 0 {
		err = cmp.Or(err, io.EOF)
	}
	if err == nil && (len(fds) > most || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0) {
		err = errors.New("the message is not one of a holder")
	}
	if err != nil {
		closeAll(fds)
		return "", nil, err
	}
	return string(buf[:n]), fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// openPty requests a pseudo terminal of the box from the holder. It verifies that the answer is one.
func (b *box) openPty() (pty, tty *os.File, err error) {
	b.asking.Lock()
	defer b.asking.Unlock()
	_ = b.control.SetWriteDeadline(time.Now().Add(startTime))
	if _, err := b.control.Write([]byte(enter.AskPty)); err != nil {
		return nil, nil, err
	}
	text, fds, err := b.receive(time.Now().Add(startTime), 2)
	switch {
	case err != nil:
		return nil, nil, err
	case text != enter.AskPty:
		closeAll(fds)
		return nil, nil, errors.New(text)
	case len(fds) != 2 || !isPty(fds[0], fds[1]):
		closeAll(fds)
		return nil, nil, errors.New("the sandbox sent something else than a terminal")
	}
	return os.NewFile(uintptr(fds[0]), "/dev/ptmx"), os.NewFile(uintptr(fds[1]), "/dev/pts"), nil
}

// isPty reports whether two descriptors are the ends of one pseudo terminal.
func isPty(master, slave int) bool {
	var m, s unix.Stat_t
	if unix.Fstat(master, &m) != nil || unix.Fstat(slave, &s) != nil ||
		m.Mode&unix.S_IFMT != unix.S_IFCHR || s.Mode&unix.S_IFMT != unix.S_IFCHR ||
		unix.Major(m.Rdev) != 5 || unix.Minor(m.Rdev) != 2 || unix.Major(s.Rdev) < 136 || unix.Major(s.Rdev) > 143 {
		return false
	}
	for _, fd := range []int{master, slave} { // refuse descriptors opened with O_PATH
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR || flags&unix.O_PATH != 0 {
			return false
		}
	}
	n, err := unix.IoctlGetUint32(master, unix.TIOCGPTN)
	return err == nil && n == (unix.Major(s.Rdev)-136)<<8+unix.Minor(s.Rdev)
}

// hasEnded reports whether the box has ended.
func (b *box) hasEnded() bool {
	select {
	case <-b.gone:
		return true
	default:
		return false
	}
}

// end ends the box and every program in it, and waits until they have ended.
func (b *box) end() {
	if b.network != nil {
		_ = b.network.Process.Kill()
	}
	if b.first != 0 {
		_ = unix.PidfdSendSignal(b.first, unix.SIGKILL, nil, 0) // the kernel then ends all others
		_ = unix.Close(b.first)
		b.first = 0
	}
	if b.holder != nil {
		_ = b.holder.Process.Kill()
		<-b.gone
	}
	b.using.Lock()
	defer b.using.Unlock()
	b.shut = true
	for _, f := range append([]*os.File{b.control, b.relay}, b.entries...) {
		if f != nil {
			f.Close()
		}
	}
}

// memory returns an anonymous file with a content, positioned at its start.
func memory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// capped is a writer that drops everything after its limit.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, _ = c.w.Write(p[:n])
	return len(p), nil
}

// discard removes the temporary files of a box that has ended.
func discard(dir string, log *slog.Logger) {
	for _, name := range []string{"tmp", "vartmp"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			log.Warn("cannot remove a sandbox's temporary files", "err", err)
		}
	}
}
