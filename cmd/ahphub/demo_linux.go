package main

import (
	"os/exec"
	"syscall"
)

// endWithParent has a program end when the one that starts it does, even if that is killed.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
