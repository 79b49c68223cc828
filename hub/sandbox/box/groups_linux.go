package box

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// groups is where control groups are created: a directory of version 2, or one per controller of version 1.
type groups struct {
	unified string
	single  map[string]string // by controller
	prefix  string            // of this hub's group names, as other hubs may share the parent
	why     string            // why they cannot be created; "" if they can
}

const (
	groupPrefix = "ahphub-"
	ownGroup    = "hub" // the group of this process, below its original group
	boxWeight   = 50    // of a box's processor time; everything else has 100
	watchTime   = time.Second
)

// sweep removes groups that an earlier run left when it was killed, and ends their processes.
func (g *groups) sweep(log *slog.Logger) {
	if g.why != "" {
		return
	}
	for _, parent := range append([]string{g.unified}, slices.Collect(maps.Values(g.single))...) {
		left, _ := filepath.Glob(filepath.Join(parent, g.prefix+"*"))
		(&group{dirs: left, log: log}).removeDirs()
	}
}

// prefixOf returns the prefix of a hub's group names, derived from its own directory.
func prefixOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return groupPrefix + hex.EncodeToString(sum[:6]) + "-"
}

// findGroups finds where this process can create control groups, below its own ones.
func findGroups(proc, mount string) groups {
	g := groups{single: map[string]string{}}
	own, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		g.why = "this system has no control groups"
		return g
	}
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(f[1], ",") {
			dir := filepath.Join(mount, controller, f[2])
			if !isThere(dir) { // as in a container, which sees its own group as the root
				dir = filepath.Join(mount, controller)
			}
			switch controller {
			case "":
				g.unified = dir
			case "memory", "pids", "cpu":
				g.single[controller] = dir
			}
		}
	}
	g.why = g.cannot()
	return g
}

// cannot returns why a group cannot be created, or "".
func (g *groups) cannot() string {
	if len(g.single) > 0 {
		for _, controller := range []string{"memory", "pids"} {
			if dir := g.single[controller]; dir == "" || unix.Access(dir, unix.W_OK) != nil {
				return "the control group of " + controller + " is not writable"
			}
		}
		return ""
	}
	has, err := os.ReadFile(filepath.Join(g.unified, "cgroup.subtree_control"))
	if err != nil || unix.Access(g.unified, unix.W_OK) != nil {
		return "its control group is not writable. Run ahphub as a service of systemd with Delegate=yes"
	}
	// A group with processes has no controllers for groups below it. So ahphub moves itself to a group below the one that
	// systemd delegates, and creates boxes next to it.
	parent, isBelow := filepath.Dir(g.unified), filepath.Base(g.unified) == ownGroup
	if !isBelow && g.moveBelow() {
		parent, isBelow = g.unified, true
	}
	if isBelow && unix.Access(parent, unix.W_OK) == nil {
		g.unified = parent
		if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory +pids +cpu"),
			0); err == nil {
			return ""
		}
		has, _ = os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
	}
	if enabled := strings.Fields(string(has)); !slices.Contains(enabled, "memory") ||
		!slices.Contains(enabled, "pids") {
		return "its control group has no controllers for those below. Run ahphub as a service of systemd with " +
			"Delegate=yes"
	}
	return ""
}

// moveBelow moves this process to its own group below its current one, if it is the only process there.
func (g *groups) moveBelow() bool {
	inside, err := os.ReadFile(filepath.Join(g.unified, "cgroup.procs"))
	has, wrong := os.ReadFile(filepath.Join(g.unified, "cgroup.controllers"))
	if err != nil || wrong != nil || strings.TrimSpace(string(inside)) != strconv.Itoa(os.Getpid()) ||
		!slices.Contains(strings.Fields(string(has)), "memory") {
		return false
	}
	dir := filepath.Join(g.unified, ownGroup)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o600) == nil
}

// group is the control group of one box.
type group struct {
	dirs    []string // one for each controller in version 1
	events  string   // the file that counts processes killed for lack of memory
	memory  int64
	log     *slog.Logger
	stop    chan struct{}
	stopped chan struct{}

	notices *notices

	mu     sync.Mutex
	killed int
}

// make creates the group of a session's box, or returns nil if it cannot or there are no limits.
func (g *groups) make(session string, l Limits, n *notices, log *slog.Logger) *group {
	if l.Disk = 0; g.why != "" || l == (Limits{}) {
		return nil
	}
	out := &group{memory: l.Memory, log: log.With("session", session), stop: make(chan struct{}),
		stopped: make(chan struct{}), notices: n}
	name := g.prefix + session
	var err error
	if len(g.single) > 0 {
		err = errors.Join(out.add(filepath.Join(g.single["memory"], name), "memory.limit_in_bytes", l.Memory),
			out.add(filepath.Join(g.single["pids"], name), "pids.max", int64(l.Processes)))
		out.events = filepath.Join(g.single["memory"], name, "memory.oom_control")
		if dir := g.single["cpu"]; dir != "" && unix.Access(dir, unix.W_OK) == nil {
			err = errors.Join(err, out.add(filepath.Join(dir, name), "cpu.shares", boxWeight*1024/100))
		}
		// Counted swap is part of the limit.
		_ = writeLimit(filepath.Join(g.single["memory"], name, "memory.memsw.limit_in_bytes"), l.Memory)
	} else {
		dir := filepath.Join(g.unified, name)
		err = errors.Join(out.add(dir, "memory.max", l.Memory), writeLimit(filepath.Join(dir, "pids.max"),
			int64(l.Processes)))
		_ = errors.Join(writeLimit(filepath.Join(dir, "cpu.weight"), boxWeight), // if there is such a controller
			os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0))
		out.events = filepath.Join(dir, "memory.events")
	}
	if err != nil {
		log.Warn("the programs of a session have no bound of memory and processes", "session", session, "err", err)
		out.removeDirs()
		return nil
	}
	out.killed = out.countKilled()
	go out.watch()
	return out
}

// add creates a directory of the group with one limit.
func (g *group) add(dir, file string, limit int64) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	g.dirs = append(g.dirs, dir)
	return writeLimit(filepath.Join(dir, file), limit)
}

func writeLimit(path string, limit int64) error {
	if limit == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // the kernel's file: never created here
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatInt(limit, 10))
	return cmp.Or(err, f.Close())
}

// enterGroupsScript is a script that enters control groups, and then runs its arguments. If it
// cannot enter, nothing runs.
const enterGroupsScript = `until [ "$1" = -- ]; do echo 0 >"$1" || exit 126; shift; done; shift; exec "$@"`

// enter returns a command that runs the arguments after it in the group.
func (g *group) enter(prefix []string) []string {
	if g == nil {
		return prefix
	}
	command := []string{"/bin/sh", "-c", enterGroupsScript, "sh"}
	for _, dir := range g.dirs {
		command = append(command, filepath.Join(dir, "cgroup.procs"))
	}
	return append(append(command, "--"), prefix...)
}

// take moves a process into the group; its later children are in it too.
func (g *group) take(pid int) error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
	}
	return errors.Join(errs...)
}

// watch checks the group until it is removed.
func (g *group) watch() {
	defer close(g.stopped)
	tick := time.NewTicker(watchTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.look()
		case <-g.stop:
			return
		}
	}
}

// look notifies the session if a process was killed for lack of memory since the last check.
func (g *group) look() {
	if g == nil {
		return
	}
	now := g.countKilled()
	g.mu.Lock()
	isMore := now > g.killed
	g.killed = max(g.killed, now)
	g.mu.Unlock()
	if isMore {
		g.log.Warn("a program of a session was ended for want of memory", "limit", g.memory)
		g.notices.say(fmt.Sprintf("out of memory: a program was ended because the programs of this session may use %s "+
			"together (--sandbox-memory)", sizeOf(g.memory)))
	}
}

// sizeOf formats a number of bytes for people.
func sizeOf(n int64) string {
	if n >= 1<<30 {
		return strconv.FormatFloat(float64(n)/(1<<30), 'g', 3, 64) + " GiB"
	}
	return strconv.FormatInt(max(n>>20, 1), 10) + " MiB"
}

// countKilled returns the number of processes that the kernel killed in the group for lack of memory.
func (g *group) countKilled() int {
	raw, err := os.ReadFile(g.events)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// remove kills processes left in the group, which may have left their process group, and removes it.
func (g *group) remove() {
	if g == nil {
		return
	}
	close(g.stop)
	<-g.stopped
	g.removeDirs()
}

// processesOf lists the processes in the group of a directory.
func processesOf(dir string) (pids []int) {
	raw, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for field := range strings.FieldsSeq(string(raw)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endIn kills a process of a group. It opens a pidfd before it checks that the process is still in the group, as the
// process id may be reused.
func endIn(dir string, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if slices.Contains(processesOf(dir), pid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func (g *group) removeDirs() {
	for range 100 {
		g.dirs = slices.DeleteFunc(g.dirs, func(dir string) bool {
			for _, pid := range processesOf(dir) {
				endIn(dir, pid)
			}
			err := os.Remove(dir)
			return err == nil || errors.Is(err, fs.ErrNotExist)
		})
		if len(g.dirs) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	g.log.Warn("control groups of a session are left behind", "dirs", g.dirs)
}
