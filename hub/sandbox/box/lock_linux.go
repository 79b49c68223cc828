package box

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// lowestABI is the lowest Landlock version to use. Before it, a program could truncate files that it cannot open.
const lowestABI = 3

// lock confines the programs of one session by Landlock alone. Each program applies the ruleset before it runs, and its
// children inherit it. There is no holder, and end misses processes outside of their program's process group.
type lock struct {
	usage
	cfg    Config
	policy *sandbox.Policy
	dir    string   // the session's private files
	rules  *os.File // the ruleset

	mu       sync.Mutex
	programs map[*os.File]process // running programs
	ended    bool
}

// newLock creates the ruleset of a policy.
func newLock(cfg Config, p *sandbox.Policy, dir string) (cell, error) {
	version, err := landlockABI(cfg)
	if err != nil {
		return nil, err
	}
	plan, err := planLock(cfg, p, dir, version)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	rules, err := plan.ruleset()
	if err != nil {
		return nil, fmt.Errorf("the rules for Landlock were refused: %w", err)
	}
	return &lock{usage: usage{session: p.Session, digest: p.Digest()}, cfg: cfg, policy: p, dir: dir, rules: rules,
		programs: map[*os.File]process{}}, nil
}

var errEnded = errors.New("the session's sandbox has ended")

// process is a process id with a pidfd.
type process struct{ pid, fd int }

// landlockABI returns the version of Landlock to use.
func landlockABI(cfg Config) (int, error) {
	version, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, errors.New("this kernel has Landlock switched off (add landlock to its parameter lsm=)")
	case err != nil:
		return 0, fmt.Errorf("this kernel has no Landlock (%w)", err)
	case version < lowestABI:
		return 0, fmt.Errorf("this kernel's Landlock has version %d, and %d is needed (Linux 6.2 and newer)", version,
			lowestABI)
	}
	if cfg.ABI > 0 {
		version = min(version, cfg.ABI)
	}
	return version, nil
}

// wrap makes cmd apply the ruleset before it runs. It needs no wrapper process.
func (l *lock) wrap(cmd *exec.Cmd, prefix []string) (starter, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	o := orderOf(cmd, l.policy)
	o.Env, o.Ruleset = l.environment(o.Env), o.Keep+1
	order, err := writeOrder(o)
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = slices.Concat(cmd.ExtraFiles, []*os.File{order, l.rules})
	cmd.Args = append(slices.Clone(prefix), l.cfg.Program, enter.Command, strconv.Itoa(o.Keep))
	cmd.Path, cmd.Dir, cmd.Env = cmd.Args[0], "/", outsideEnvironment(len(prefix) > 0)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// It must not control the hub's terminal, as it could type there.
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setpgid = true, false
	return func() (func(), error) { defer order.Close(); return l.start(cmd) }, nil
}

// homes are variables of directories that are usually below the home directory.
var homes = []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"}

// environment sets the session's own home and temporary directories: without mounts, nothing can replace the usual
// ones.
func (l *lock) environment(env []string) []string {
	private := []string{"TMPDIR=" + filepath.Join(l.dir, "tmp")}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		rel, err := filepath.Rel(l.cfg.Home, value)
		switch {
		case name == "HOME":
			variable = "HOME=" + filepath.Join(l.dir, "home")
		case slices.Contains(homes, name) && err == nil && filepath.IsLocal(rel):
			variable = name + "=" + filepath.Join(l.dir, "home", rel)
		}
		private = append(private, variable)
	}
	return private
}

// start starts a program and tracks it until it ends.
func (l *lock) start(cmd *exec.Cmd) (wait func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil, errEnded
	}
	if err := startBound(cmd); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid // not waited for yet, so the id cannot be reused
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "process")
	l.programs[f] = process{pid, fd}
	return func() { l.await(f) }, nil
}

// await returns once a process has ended.
func (l *lock) await(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Read(func(fd uintptr) bool { return hasExited(int(fd)) })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.programs, f)
	f.Close()
}

// hasExited reports whether the process of a pidfd has ended.
func hasExited(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}

func (l *lock) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// end kills the running programs, with their process groups. Processes that left the groups continue.
func (l *lock) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	for _, p := range l.programs {
		if !hasExited(p.fd) { // otherwise the id may be reused
			_ = unix.Kill(-p.pid, unix.SIGKILL)
		}
	}
	l.rules.Close()
}

// openPty opens a pseudo terminal of the host, and allows the session's programs to open it by path.
func (l *lock) openPty() (pty, tty *os.File, err error) {
	master, slave, err := enter.OpenPty()
	if err != nil {
		return nil, nil, err
	}
	pty, tty = os.NewFile(uintptr(master), "/dev/ptmx"), os.NewFile(uintptr(slave), "/dev/pts")
	version, err := landlockABI(l.cfg)
	if err == nil {
		err = l.allow(grant{rights: deviceRights, file: tty}, version)
	}
	if err != nil {
		pty.Close()
		tty.Close()
		return nil, nil, err
	}
	return pty, tty, nil
}

// allow adds a grant to the session's ruleset. It holds l.mu meanwhile: end closes the ruleset, whose descriptor number
// could be reused.
func (l *lock) allow(g grant, version int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return errEnded
	}
	return g.addTo(l.rules, version)
}

// linkHome links from the session's own home directory to a path that its programs may use in the user's. It replaces
// nothing that they created.
func linkHome(home *os.Root, rel, to string) {
	if home.MkdirAll(filepath.Dir(rel), 0o700) == nil { // on failure the parent is a link to the user's, or a file
		_ = home.Symlink(to, rel)
	}
}
