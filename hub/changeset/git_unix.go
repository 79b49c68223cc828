//go:build unix

package changeset

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group, so that what it started ends with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
