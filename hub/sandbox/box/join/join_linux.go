package join

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// passed are the signals passed on to the program.
var passed = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGCONT}

// init runs the command before most of the program is initialized.
func init() {
	if len(os.Args) == 3 && os.Args[1] == enter.JoinCommand {
		enter.Exit(join(os.Args[2]), 127) // like a shell whose command cannot run
	}
}

// join sends this process's file descriptors to a program in the container, passes signals on, and ends like the
// program. It runs outside, and trusts the container only about how the program ended.
func join(first string) error {
	order, err := strconv.Atoi(first)
	if err != nil || order < 3 || order > enter.MostFDs {
		return errors.New("this command is for ahphub itself")
	}
	conn := order + 2
	signals := make(chan os.Signal, len(passed))
	signal.Notify(signals, passed...)
	fds := []int{order}
	for fd := range order {
		fds = append(fds, fd)
	}
	if err := enter.Send(conn, enter.SayStart, fds...); err != nil {
		return errors.New("this session's container has ended: " + err.Error())
	}
	if err := release(order); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			_ = enter.Send(conn, enter.SaySignal+strconv.Itoa(int(s.(syscall.Signal))))
		}
	}()
	buf := make([]byte, 8<<10)
	for {
		n, _, err := syscall.Recvfrom(conn, buf, 0) // descriptors that come with it are closed
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			die(syscall.SIGKILL) // the container has ended, and the program with it
		}
		return end(string(buf[:n]))
	}
}

// release closes the program's file descriptors, so that their other ends notice when the program closes them. Standard
// error stays open.
func release(order int) error {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for fd := range order {
		switch fd {
		case 0, 1:
			err = syscall.Dup3(null, fd, 0)
		case 2:
		default:
			err = syscall.Close(fd)
		}
		if err != nil {
			return err
		}
	}
	return syscall.Close(order)
}

// end ends this process like the program.
func end(how string) error {
	if n, ok := numberAfter(how, enter.SayExit); ok && n < 256 {
		os.Exit(n)
	}
	if n, ok := numberAfter(how, enter.SaySignal); ok && n > 0 && n < 65 {
		die(syscall.Signal(n))
	}
	if len(how) > len(enter.SayFailure) && how[:len(enter.SayFailure)] == enter.SayFailure {
		return errors.New(how[len(enter.SayFailure):])
	}
	return errors.New("this session's container says something else than how the program ended")
}

func numberAfter(text, prefix string) (n int, ok bool) {
	if len(text) <= len(prefix) || text[:len(prefix)] != prefix {
		return 0, false
	}
	n, err := strconv.Atoi(text[len(prefix):])
	return n, err == nil && n >= 0
}

// die ends this process by a signal, without a core dump.
func die(s syscall.Signal) {
	_ = errors.Join(enter.Hide(), enter.ResetSignal(s), syscall.Kill(syscall.Getpid(), s))
	select {} // the signal ends it
}
