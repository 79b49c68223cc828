//go:build unix

package changeset

import (
	"io/fs"
	"os/exec"
	"syscall"
)

// nonBlocking opens a named pipe without waiting for its other end.
const nonBlocking = syscall.O_NONBLOCK

// fileID returns what names a file whatever its path is; zeroes when it is unknown.
func fileID(info fs.FileInfo) (dev, ino uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // their types differ between systems
}

// ownGroup gives a program a process group, so that what it started ends with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// looking is the nice value of git programs that no person waits for: on a busy machine, a turn that ends
// does not delay the output of other turns.
const looking = 5

// yield lowers a group's priority. It has no effect on a program that has ended or does not permit it.
func yield(group int) { _ = syscall.Setpriority(syscall.PRIO_PGRP, group, looking) }
