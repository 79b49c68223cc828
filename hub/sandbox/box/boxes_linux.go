package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
	_ "github.com/ahphub/ahphub/hub/sandbox/box/contain" // runs in containers
	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
	_ "github.com/ahphub/ahphub/hub/sandbox/box/join" // waits for programs in containers
)

// Boxes holds the boxes of sessions, each from its first program until some time after its last.
type Boxes struct {
	cfg    Config
	report func() Report
	groups func() groups

	mu     sync.Mutex
	all    map[string]cell // by session
	making map[string]chan struct{}
	closed bool

	finding sync.Mutex
	engine  engine // of containers; its zero value: not found yet
	infos   infos
	disks   map[string]*diskHistory // by session

	tick time.Duration // interval of disk and login checks
}

// cell confines the programs of one session, by the mode of its policy.
type cell interface {
	wrap(cmd *exec.Cmd, prefix []string) (starter, error)
	openPty() (pty, tty *os.File, err error)
	hasEnded() bool
	end() // ends every program in it
	signal(syscall.Signal)
	members() []int // known processes in it
	counts() *usage
}

// starter starts a program in a cell. wait returns once the program and its wrapper have ended.
type starter func() (wait func(), err error)

// usage counts the programs in a cell, guarded by its Boxes' mu.
type usage struct {
	session, digest string // of its policy
	programs        int
	idle            *time.Timer
	group           *group // nil: no limits
	notices         notices
	outside         wrappers
	disk            *diskWatch // nil: not watched
	logins          *logins    // nil: none
}

func (u *usage) counts() *usage { return u }

// close ends the limits and watches of a cell that has ended.
func (u *usage) close() {
	u.outside.wakeLast()
	u.logins.close()
	u.disk.close()
	u.group.remove()
}

// New returns Boxes without a box.
func New(cfg Config) *Boxes {
	cfg.Linger = cmp.Or(cfg.Linger, time.Minute)
	b := &Boxes{cfg: cfg, all: map[string]cell{}, making: map[string]chan struct{}{},
		disks: map[string]*diskHistory{}, tick: diskTick}
	b.report = sync.OnceValue(b.probe)
	b.groups = sync.OnceValue(func() groups {
		g := findGroups("/proc", "/sys/fs/cgroup")
		g.prefix = prefixOf(cfg.Dir)
		return g
	})
	return b
}

// Start starts cmd in the box of a policy's session, and creates the box if there is none. prefix is a command that
// runs everything outside, for example in a resource scope. cmd becomes a wrapper that stays outside and waits for the
// program; both have the same process group.
func (b *Boxes) Start(cmd *exec.Cmd, p *sandbox.Policy, prefix ...string) error {
	in, err := b.enter(p)
	if err != nil {
		return err
	}
	var wait func()
	u, stderr := in.counts(), cmd.Stderr
	start, err := in.wrap(cmd, u.group.enter(prefix))
	if err == nil {
		detach := u.notices.attend(stderr)
		done := func() { u.group.look(); detach() }
		if wait, err = start(); err != nil {
			done()
		} else {
			leave := u.outside.add(cmd.Process)
			inner := done
			done = func() { leave(); inner() }
		}
		ended := wait
		wait = func() { ended(); done() }
	}
	if err != nil {
		b.leave(in)
		return err
	}
	go func() { wait(); b.leave(in) }()
	return nil
}

// entry is what an entering program gets in addition to the box's namespaces.
type entry struct {
	order       *os.File // the program to run
	alive, held *os.File // a pipe: the program's wrapper holds its second end
}

func newEntry(o enter.Order) (e entry, err error) {
	if e.order, err = writeOrder(o); err != nil {
		return e, err
	}
	if e.alive, e.held, err = os.Pipe(); err != nil {
		e.order.Close()
	}
	return e, err
}

func writeOrder(o enter.Order) (*os.File, error) { return memory("order", o.Encode()) }

func (e entry) close() {
	for _, f := range []*os.File{e.order, e.alive, e.held} {
		f.Close()
	}
}

// start starts the program that enters.
func (e entry) start(cmd *exec.Cmd) (wait func(), err error) {
	err = cmd.Start()
	e.order.Close()
	e.held.Close()
	if err != nil {
		e.alive.Close()
		return nil, err
	}
	return func() { _, _ = io.Copy(io.Discard, e.alive); e.alive.Close() }, nil
}

// SweepGroups removes the control groups of boxes that an earlier run of this program left.
func (b *Boxes) SweepGroups() {
	g := b.groups()
	g.sweep(b.cfg.Log)
}

// orderOf returns the order to run cmd under a policy.
func orderOf(cmd *exec.Cmd, p *sandbox.Policy) enter.Order {
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	return enter.Order{Path: cmd.Path, Argv: cmd.Args, Env: p.Environment(env), Dir: cmp.Or(cmd.Dir, "/"),
		Keep: 3 + len(cmd.ExtraFiles)}
}

// wrap makes cmd enter the box.
func (b *box) wrap(cmd *exec.Cmd, prefix []string) (starter, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, err
	}
	o := orderOf(cmd, b.policy)
	keep := o.Keep
	e, err := newEntry(o)
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = slices.Concat(cmd.ExtraFiles, []*os.File{e.order, e.held}, b.entries)
	fd := func(i int) string { return "/proc/self/fd/" + strconv.Itoa(keep+2+i) }
	// The waiting shell must survive signals to the group, which the program may handle.
	args := append(slices.Clone(prefix), "/bin/sh", "-c", `trap "" HUP INT QUIT TERM; exec "$@"`, "sh",
		nsenter, "--preserve-credentials", "--user="+fd(0))
	for i, e := range entryFlags {
		args = append(args, "--"+e.flag+"="+fd(2+i))
	}
	cmd.Args = append(args, "--", nsenter, "--preserve-credentials", "--user="+fd(1), "--", inside, enter.Command,
		strconv.Itoa(keep))
	cmd.Path, cmd.Dir, cmd.Env = args[0], "/", outsideEnvironment(len(prefix) > 0)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// It must not control the hub's terminal, as it could type there.
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setpgid = true, false
	return func() (func(), error) {
		b.using.RLock() // otherwise it could get a reused descriptor of a closed entry
		defer b.using.RUnlock()
		if b.shut {
			e.close()
			return nil, errors.New("the session's sandbox has ended")
		}
		return e.start(cmd)
	}, nil
}

// outsideEnvironment returns the environment of programs that lead into a box. The session sets none of it.
func outsideEnvironment(scoped bool) []string {
	env := []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	for _, name := range []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} {
		if value := os.Getenv(name); scoped && value != "" { // for systemd-run
			env = append(env, name+"="+value)
		}
	}
	return env
}

// OpenTerminal opens a pseudo terminal in the box of a policy's session: the hub's end, and the program's.
func (b *Boxes) OpenTerminal(p *sandbox.Policy) (pty, tty *os.File, err error) {
	in, err := b.enter(p)
	if err != nil {
		return nil, nil, err
	}
	defer b.leave(in)
	pty, tty, err = in.openPty()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open a terminal in the session's sandbox: %w", err)
	}
	return pty, tty, nil
}

// enter returns the running box of a policy, and counts a program. It first ends a box with another policy: its
// permissions no longer apply.
func (b *Boxes) enter(p *sandbox.Policy) (cell, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	for {
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			return nil, errors.New("the server is stopping")
		}
		if wait := b.making[p.Session]; wait != nil {
			b.mu.Unlock()
			<-wait
			continue
		}
		in := b.all[p.Session]
		if in != nil && in.counts().digest == p.Digest() && !in.hasEnded() {
			in.counts().add(1, nil)
			b.mu.Unlock()
			return in, nil
		}
		wait := make(chan struct{})
		b.making[p.Session] = wait
		delete(b.all, p.Session)
		b.mu.Unlock()
		in, err := b.replace(in, p)
		b.mu.Lock()
		if delete(b.making, p.Session); err == nil {
			b.all[p.Session] = in
			in.counts().add(1, nil)
		}
		b.mu.Unlock()
		close(wait)
		return in, err
	}
}

// replace ends a session's old box, if it has one, and starts another.
func (b *Boxes) replace(old cell, p *sandbox.Policy) (cell, error) {
	dir := filepath.Join(b.cfg.Dir, p.Session)
	if old != nil {
		old.end()
		old.counts().close()
	}
	discard(dir, b.cfg.Log)
	in, err := b.make(p, dir)
	if err != nil {
		return nil, fmt.Errorf("the sandbox of this session cannot be started: %w", err)
	}
	return in, nil
}

// make creates the cell of a policy's session, whose private files are in dir.
func (b *Boxes) make(p *sandbox.Policy, dir string) (cell, error) {
	var in cell
	var err error
	switch p.Mode {
	case sandbox.Landlock:
		in, err = newLock(b.cfg, p, dir)
	case sandbox.Container:
		in, err = b.startContainer(p, dir)
	default:
		in, err = start(context.Background(), b.cfg, p, dir)
	}
	if err != nil {
		return nil, err
	}
	if g := b.groups(); p.Session != probeSession {
		u := in.counts()
		if u.notices.ttys = map[*os.File]bool{}; b.cfg.Tell != nil {
			u.notices.tell = func(text string) { b.cfg.Tell(p.Session, text) }
		}
		if u.logins, err = b.watchLogins(p, dir); err != nil {
			in.end()
			return nil, err
		}
		u.group = g.make(p.Session, b.cfg.Limits, &u.notices, b.cfg.Log)
		u.disk = b.watchDisk(in, p, dir)
	}
	if c, ok := in.(*container); ok {
		if err := c.group.take(c.pid); err != nil {
			b.cfg.Log.Warn("the container of a session has no bound of memory and processes but its engine's",
				"session", p.Session, "err", err)
		}
	}
	return in, nil
}

// add changes the number of programs, and schedules the end of an empty cell.
func (u *usage) add(n int, linger func() *time.Timer) {
	u.programs += n
	if u.idle != nil {
		u.idle.Stop()
		u.idle = nil
	}
	if u.programs == 0 && linger != nil {
		u.idle = linger()
	}
}

// leave stops counting a program.
func (b *Boxes) leave(in cell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := in.counts()
	u.add(-1, func() *time.Timer {
		return time.AfterFunc(b.cfg.Linger,
			func() { b.endIf(u.session, func(now cell) bool { return now == in && u.programs == 0 }) })
	})
}

// End ends a session's box and its programs, if there is one.
func (b *Boxes) End(session string) { b.endIf(session, func(cell) bool { return true }) }

func (b *Boxes) endIf(session string, is func(cell) bool) {
	b.mu.Lock()
	for b.making[session] != nil {
		wait := b.making[session]
		b.mu.Unlock()
		<-wait
		b.mu.Lock()
	}
	in := b.all[session]
	if in == nil || !is(in) {
		b.mu.Unlock()
		return
	}
	wait := make(chan struct{}) // no program starts in it meanwhile
	b.making[session] = wait
	delete(b.all, session)
	b.mu.Unlock()
	in.end()
	in.counts().close()
	discard(filepath.Join(b.cfg.Dir, session), b.cfg.Log)
	b.mu.Lock()
	delete(b.making, session)
	b.mu.Unlock()
	close(wait)
}

// Forget ends a session's box and removes its private files.
func (b *Boxes) Forget(session string) error {
	if err := (&sandbox.Policy{Session: session, Network: sandbox.Closed}).Check(); err != nil {
		return err
	}
	b.End(session)
	b.infos.forget(session)
	b.mu.Lock()
	delete(b.disks, session)
	b.mu.Unlock()
	return os.RemoveAll(filepath.Join(b.cfg.Dir, session))
}

// Close ends all boxes. No box starts later.
func (b *Boxes) Close() {
	b.mu.Lock()
	b.closed = true
	sessions := make([]string, 0, len(b.all))
	for session := range b.all {
		sessions = append(sessions, session)
	}
	for session := range b.making {
		sessions = append(sessions, session)
	}
	b.mu.Unlock()
	for _, session := range sessions {
		b.End(session)
	}
}
