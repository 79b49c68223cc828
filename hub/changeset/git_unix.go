//go:build unix

package changeset

import (
	"io/fs"
	"os/exec"
	"syscall"
)

// nonBlocking opens a named pipe without waiting for its other end.
const nonBlocking = syscall.O_NONBLOCK

// fileID identifies a file independently of its path; zeros if unknown.
func fileID(info fs.FileInfo) (dev, ino uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // their types differ between systems
}

// ownGroup gives a program a process group, so that its children end with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// looking is the nice value of git programs that no person waits for: on a busy machine, the end of
// a turn must not delay the output of others.
const looking = 5

// yield lowers a group's priority. It has no effect on a program that has ended or does not permit it.
func yield(group int) { _ = syscall.Setpriority(syscall.PRIO_PGRP, group, looking) }
