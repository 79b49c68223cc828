package box

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

const (
	boxSocketDir = programs + "/meeting" // the hub's socket for the first process of a container
	socketInside = boxSocketDir + "/hub"
)

// container is a box that podman or docker creates. Its first process starts the programs, so that they inherit the
// engine's confinement.
type container struct {
	*box
	engine engine
	image  string
	name   string
	env    []string // of the image
	own    []string // variables that the repository sets
	pid    int      // of the first process
}

// label identifies the containers of this hub.
func (c Config) label() string {
	sum := sha256.Sum256([]byte(c.Dir))
	return hex.EncodeToString(sum[:8])
}

// startContainer starts a container with its private files in dir, and returns once it is ready.
func startContainer(ctx context.Context, cfg Config, e engine, p *sandbox.Policy, image, dir string) (
	*container, error,
) {
	c := &container{box: &box{usage: usage{session: p.Session, digest: p.Digest()}, cfg: cfg, policy: p,
		gone: make(chan struct{}), conns: make(chan struct{}, mostConns)}, engine: e, image: image,
		name: "ahphub-" + p.Session + "-" + strings.ToLower(rand.Text()[:8])}
	ctx, cancel := context.WithTimeoutCause(ctx, containerTime, fmt.Errorf("it was not ready within %s", containerTime))
	defer cancel()
	l, err := planContainer(cfg, p, dir)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if err = c.run(ctx, l, dir); err == nil && p.Network == sandbox.Open {
		err = c.openNetwork(ctx, dir)
	}
	if err != nil {
		c.end()
		return nil, err
	}
	go c.takeConns()
	return c, nil
}

// containerTime is the timeout for a container to become ready.
const containerTime = time.Minute

// planContainer lists what a container shows in addition to its image.
func planContainer(cfg Config, p *sandbox.Policy, dir string) (*layout, error) {
	l := &layout{cfg: cfg}
	p = followTopLinks(p)
	err := l.addPrivate(dir)
	for _, add := range []func(*sandbox.Policy) error{l.addHome, l.addPolicy, l.addProgram} {
		if err == nil {
			err = add(p)
		}
	}
	if err == nil && p.Network == sandbox.Open {
		err = l.addResolver()
	}
	if err == nil {
		err = l.makePlaces(dir)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// makePlaces creates the mount points in a session's private directories. An engine would create them as root in a
// container, which without privileges is a different user than the hub's: the hub could not remove them.
func (l *layout) makePlaces(dir string) error {
	for _, private := range [][2]string{{"tmp", "/tmp"}, {"vartmp", "/var/tmp"}, {"home", l.cfg.Home}} {
		root, err := os.OpenRoot(filepath.Join(dir, private[0]))
		if err != nil {
			return err
		}
		defer root.Close()
		for _, m := range l.mounts {
			if err := l.prepareIn(root, private[1], m.at, m.from); err != nil {
				return err
			}
		}
	}
	return nil
}

// addResolver adds the configuration for name lookups.
func (l *layout) addResolver() error {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	f, err := openPath(real)
	if err == nil {
		l.bindFile("--ro-bind", f, "/etc/resolv.conf")
	}
	return err
}

// run starts the container with the engine, and connects to its first process.
func (c *container) run(ctx context.Context, l *layout, dir string) error {
	socketDir := filepath.Join(dir, "meeting")
	if err := cmp.Or(os.RemoveAll(socketDir), os.Mkdir(socketDir, 0o700)); err != nil {
		return err
	}
	place, err := openPath(socketDir)
	if err != nil {
		return err
	}
	l.bindFile("--ro-bind", place, boxSocketDir)
	listener, err := listenIn(place)
	if err != nil {
		return err
	}
	defer os.RemoveAll(socketDir) // before any program of the session runs
	defer listener.Close()
	var ports []string
	for _, r := range c.policy.Relays {
		ports = append(ports, strconv.Itoa(r.Port))
	}
	args, err := c.runArgs(l.mounts, ports)
	if err != nil {
		return err
	}
	var inspected error
	known := make(chan struct{})
	go func() { defer close(known); c.env, inspected = c.engine.environmentOf(c.image) }()
	cmd, complaint := c.engine.command(args...), &bytes.Buffer{}
	cmd.Stderr, cmd.WaitDelay = &capped{w: complaint, left: 4 << 10}, time.Second
	if err := spawn(cmd); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		if err := cmd.Wait(); err != nil {
			failed <- fmt.Errorf("%s says: %s", c.engine.name(), orFail(lastLine(complaint.String()), err))
			listener.Close()
		}
	}()
	err = c.acceptFirstProcess(ctx, listener)
	if <-known; inspected != nil {
		return inspected
	}
	if err != nil {
		select {
		case err = <-failed:
		default:
		}
		return err
	}
	return c.verify(l.mounts)
}

// listenIn creates a socket in a directory. It uses the directory's descriptor, so the path may have any length.
func listenIn(dir *os.File) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/hub", dir.Fd())})
	if err == nil {
		err = unix.Listen(fd, 2)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "meeting"), nil
}

// acceptFirstProcess accepts the two connections of the container's first process, and waits until
// the process is ready.
func (c *container) acceptFirstProcess(ctx context.Context, listener *os.File) error {
	deadline, _ := ctx.Deadline()
	_ = listener.SetReadDeadline(deadline)
	for _, conn := range []**os.File{&c.control, &c.relay} {
		fd, err := accept(listener)
		if err != nil {
			return cmp.Or(context.Cause(ctx), fmt.Errorf("its first process did not start: %w", err))
		}
		*conn = os.NewFile(uintptr(fd), "container")
		who, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return err
		}
		if c.pid != 0 && int(who.Pid) != c.pid || who.Pid == 0 {
			return errors.New("another process than its first one answers")
		}
		c.pid = int(who.Pid)
		c.holding = c.pid
	}
	var err error
	if c.first, err = unix.PidfdOpen(c.pid, unix.PIDFD_NONBLOCK); err != nil {
		return err
	}
	again, err := unix.FcntlInt(uintptr(c.first), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	go c.watch(os.NewFile(uintptr(again), "process"))
	text, _, err := c.receive(deadline, 0)
	switch {
	case err != nil:
		return cmp.Or(context.Cause(ctx), fmt.Errorf("its first process did not start: %w", err))
	case text != enter.SayReady:
		return errors.New(strings.TrimPrefix(text, enter.SayFailure))
	}
	return nil
}

func accept(listener *os.File) (fd int, err error) {
	raw, err := listener.SyscallConn()
	if err != nil {
		return -1, err
	}
	read := raw.Read(func(l uintptr) bool {
		fd, _, err = unix.Accept4(int(l), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	return fd, cmp.Or(read, err)
}

// watch closes c.gone once the first process, and so every program of the container, has ended.
func (c *container) watch(f *os.File) {
	defer close(c.gone)
	defer f.Close()
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Read(func(fd uintptr) bool { return hasExited(int(fd)) })
	}
}

// ask requests file descriptors from the first process.
func (c *container) ask(request, answer string, most int) ([]int, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	deadline := time.Now().Add(startTime)
	_ = c.control.SetWriteDeadline(deadline)
	if _, err := c.control.Write([]byte(request)); err != nil {
		return nil, err
	}
	text, fds, err := c.receive(deadline, most)
	if err == nil && (text != answer || len(fds) != most) {
		closeAll(fds)
		err = errors.New(strings.TrimPrefix(text, enter.SayFailure))
	}
	return fds, err
}

// verify compares the container's mounts with the checked files: the engine opened them again by path, where programs
// of other sessions may have replaced them. No program runs in the container yet.
func (c *container) verify(mounts []mount) error {
	for _, m := range mounts {
		var want, got unix.Stat_t
		fds, err := c.ask(enter.AskLook+m.at, enter.AskLook, 1)
		if err != nil {
			return fmt.Errorf("%s is not in the container: %w", m.at, err)
		}
		err = errors.Join(unix.Fstat(int(m.from.Fd()), &want), unix.Fstat(fds[0], &got))
		closeAll(fds)
		if err != nil || want.Dev != got.Dev || want.Ino != got.Ino {
			return fmt.Errorf("%s was replaced while the container started. Start the session's programs again", m.at)
		}
	}
	return nil
}

// openNetwork connects the container to the host's networks.
func (c *container) openNetwork(ctx context.Context, dir string) error {
	fds, err := c.ask(enter.AskNet, enter.AskNet, 2)
	if err != nil {
		return err
	}
	network := os.NewFile(uintptr(fds[0]), "net")
	_ = unix.Close(fds[1])
	c.entries = []*os.File{nil, nil, nil, network}
	kind, err := unix.IoctlRetInt(fds[0], unix.NS_GET_NSTYPE)
	if err != nil || kind != unix.CLONE_NEWNET {
		return errors.New("the container sent something else than its network")
	}
	user, err := unix.IoctlRetInt(fds[0], unix.NS_GET_USERNS) // the user namespace that owns it
	if err != nil {
		return fmt.Errorf("cannot find who may set up its network: %w", err)
	}
	c.entries[0] = os.NewFile(uintptr(user), "user")
	return c.connect(ctx, dir)
}

// wrap makes cmd a wrapper that waits outside for a program started by the container's first process. It ignores
// prefix, which would limit the wrapper instead of the program.
func (c *container) wrap(cmd *exec.Cmd, prefix []string) (starter, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	o := orderOf(cmd, c.policy)
	o.Env = c.environment(o.Env)
	if o.Keep+1 > enter.MostFDs {
		return nil, errors.New("a program in a container cannot have so many open files")
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Setctty { // of the program, so not of its wrapper
		o.Terminal, cmd.SysProcAttr.Setctty = 1+cmd.SysProcAttr.Ctty, false
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setpgid = true, false
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "program"), os.NewFile(uintptr(fds[1]), "program")
	e, err := newEntry(o)
	if err != nil {
		return nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	cmd.ExtraFiles = slices.Concat(cmd.ExtraFiles, []*os.File{e.order, e.held, ours})
	cmd.Path, cmd.Args = c.cfg.Program, []string{c.cfg.Program, enter.JoinCommand, strconv.Itoa(o.Keep)}
	cmd.Dir, cmd.Env = "/", outsideEnvironment(false)
	return func() (func(), error) {
		defer ours.Close()
		defer theirs.Close()
		if err := c.sendRun(theirs); err != nil {
			e.order.Close()
			e.held.Close()
			e.alive.Close()
			return nil, fmt.Errorf("the session's container has ended: %w", err)
		}
		return e.start(cmd)
	}, nil
}

// sendRun sends the first process its end of a program's socket.
func (c *container) sendRun(conn *os.File) error {
	c.asking.Lock()
	defer c.asking.Unlock()
	raw, err := c.control.SyscallConn()
	if err != nil {
		return err
	}
	_ = c.control.SetWriteDeadline(time.Now().Add(startTime))
	rights := unix.UnixRights(int(conn.Fd()))
	wrote := raw.Write(func(fd uintptr) bool {
		err = unix.Sendmsg(int(fd), []byte(enter.AskRun), rights, nil, unix.MSG_NOSIGNAL)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	return cmp.Or(wrote, err)
}

// environment returns a program's variables, with the image's added, and overridden by the repository's. PATH begins
// with the image's own directories: the host's may not exist there.
func (c *container) environment(env []string) []string {
	image := slices.Clone(c.env)
	for _, variable := range c.own {
		name, _, _ := strings.Cut(variable, "=")
		isIt := func(other string) bool { return strings.HasPrefix(other, name+"=") }
		image, env = append(slices.DeleteFunc(image, isIt), variable), slices.DeleteFunc(env, isIt)
	}
	own := map[string]string{}
	for _, variable := range image {
		name, value, _ := strings.Cut(variable, "=")
		own[name] = value
	}
	dirs := filepath.SplitList(cmp.Or(own["PATH"], "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
	out := make([]string, 0, len(env)+len(image))
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if name == "PATH" {
			dirs = append(dirs, filepath.SplitList(value)...)
			continue
		}
		delete(own, name)
		out = append(out, variable)
	}
	delete(own, "PATH")
	for _, variable := range image {
		if name, _, _ := strings.Cut(variable, "="); own[name] != "" {
			out = append(out, variable)
		}
	}
	var path []string
	for _, dir := range dirs {
		if dir != "" && !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	return append(out, "PATH="+strings.Join(path, ":"))
}

// end ends the container and every program in it.
func (c *container) end() {
	met := c.first != 0
	c.box.end()
	if met {
		<-c.gone
		return
	}
	_, _ = c.engine.ask("rm", "--force", "--volumes", c.name) // it may be running or starting
}
