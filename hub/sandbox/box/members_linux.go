package box

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// members lists the processes in the box, except the holder: those in its pid namespace.
func (b *box) members() (pids []int) {
	own := b.lastNamespace()
	for _, pid := range allProcesses() {
		if own != 0 && pid != b.holding && isInside(pid, own) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lastNamespace returns the id of the box's pid namespace, or 0 once the box has ended.
func (b *box) lastNamespace() uint64 {
	b.using.RLock()
	defer b.using.RUnlock()
	var own unix.Stat_t
	if len(b.entries) == 0 { // a container: entered through its first process
		if b.shut || b.holding == 0 || unix.Stat("/proc/"+strconv.Itoa(b.holding)+"/ns/pid", &own) != nil {
			return 0
		}
		return own.Ino
	}
	if b.shut || unix.Fstat(int(b.entries[len(b.entries)-1].Fd()), &own) != nil {
		return 0
	}
	return own.Ino
}

// isInside reports whether a process is in a pid namespace.
func isInside(pid int, namespace uint64) bool {
	var s unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid)+"/ns/pid", &s) == nil && s.Ino == namespace
}

func allProcesses() (pids []int) {
	f, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// signal sends a signal to every program in the box. It opens a pidfd before it checks the process's namespace, as the
// process id may be reused.
func (b *box) signal(sig syscall.Signal) {
	own := b.lastNamespace()
	for _, pid := range b.members() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if isInside(pid, own) {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
		unix.Close(fd)
	}
}

// members lists the processes in the session's control group, or without one the started programs.
func (l *lock) members() (pids []int) {
	if l.group != nil && len(l.group.dirs) > 0 {
		return processesOf(l.group.dirs[0])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.programs {
		pids = append(pids, p.pid)
	}
	return pids
}

// signal sends a signal to the process groups of the programs.
func (l *lock) signal(sig syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.programs {
		if !hasExited(p.fd) { // otherwise the id may be reused
			_ = unix.Kill(-p.pid, sig)
		}
	}
}
