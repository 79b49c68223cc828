package main

import (
	"os/exec"
	"syscall"
)

// endWithParent ends a program when its parent ends, even if the parent is killed.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
