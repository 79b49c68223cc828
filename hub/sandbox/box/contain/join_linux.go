package contain

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// init runs the commands before most of the program is initialized.
func init() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == enter.JoinCommand:
		enter.Exit(join(os.Args[2]), 127) // as a shell whose command cannot run
	case len(os.Args) > 3 && os.Args[1] == enter.ServeCommand:
		enter.Exit(serve(os.Args[2], os.Args[3], os.Args[4:]), 1)
	}
}

// passed are the signals that reach the program.
var passed = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGCONT}

// join is JoinCommand: it gives its descriptors to a program in the container, passes signals on, and ends as that does.
// It runs outside, and believes of what comes from the container how the program ended.
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
	buf := make([]byte, mostRequest)
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

// release gives up the program's descriptors, so that their other ends see when the program closes them. Errors can
// still be written.
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

// end ends this process as the program ended.
func end(how string) error {
	if status, ok := strings.CutPrefix(how, enter.SayExit); ok {
		if n, err := strconv.Atoi(status); err == nil && n >= 0 && n < 256 {
			os.Exit(n)
		}
	}
	if number, ok := strings.CutPrefix(how, enter.SaySignal); ok {
		if n, err := strconv.Atoi(number); err == nil && n > 0 && n < 65 {
			die(syscall.Signal(n))
		}
	}
	if text, ok := strings.CutPrefix(how, enter.SayFailure); ok {
		return errors.New(text)
	}
	return errors.New("this session's container says something else than how the program ended")
}

// die ends this process by a signal, without a core file.
func die(s syscall.Signal) {
	_ = errors.Join(enter.Hide(), enter.ResetSignal(s), syscall.Kill(syscall.Getpid(), s))
	select {} // the signal ends it
}
