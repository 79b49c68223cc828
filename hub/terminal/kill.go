package terminal

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killPatience is the minimum timeout after SIGKILL: only a busy system delays the end of a killed program.
const killPatience = 5 * time.Second

// Kill ends the program and its children: SIGHUP, as when a terminal is closed, then SIGTERM, then SIGKILL, each to
// every process of the terminal. It returns when the program has ended, and does nothing if it had ended before.
func (p *Process) Kill() error {
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGTERM, unix.SIGKILL} {
		if p.hasExited() {
			return nil
		}
		members := p.members()
		p.signal(members, sig)
		grace := p.grace
		if sig == unix.SIGKILL {
			grace = max(grace, killPatience)
		}
		if p.waitGone(members, grace) {
			return nil
		}
	}
	return errors.New("cannot kill the program")
}

// waitGone waits for the program, and then for its children: a child that ignores a signal gets the next one even if
// its shell has ended.
func (p *Process) waitGone(members []int, grace time.Duration) bool {
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.exited:
	case <-t.C:
		return false
	}
	for _, pid := range members {
		if pid != p.cmd.Process.Pid && isAlive(pid) {
			p.reap(members, t.C)
			break
		}
	}
	return true
}

// reap gives the rest of the terminal's processes the remaining time, then kills them.
func (p *Process) reap(members []int, deadline <-chan time.Time) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for slices.ContainsFunc(members, isAlive) {
		select {
		case <-tick.C:
		case <-deadline:
			p.signal(members, unix.SIGKILL)
			return
		}
	}
}

func isAlive(pid int) bool { return unix.Kill(pid, 0) == nil }

// signal signals the program's group, the terminal's foreground group (a shell gives each job its own) and every
// process of the session.
func (p *Process) signal(members []int, sig syscall.Signal) {
	pid := p.cmd.Process.Pid
	_ = unix.Kill(-pid, sig)
	var fg int
	_ = p.control(func(fd int) (err error) { fg, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP); return err })
	if fg > 1 && fg != pid {
		_ = unix.Kill(-fg, sig)
	}
	for _, m := range members {
		_ = unix.Kill(m, sig)
	}
}
