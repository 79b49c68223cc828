package enter

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// joinedCommand is JoinCommand once its signals are blocked.
const joinedCommand = "sandbox-joined"

// What rt_sigprocmask does.
const (
	sigBlock   = 0
	sigUnblock = 1
)

// passed are the signals that reach the program.
var passed = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGCONT}

// signalSet is the kernel's set of signals.
func signalSet(signals ...syscall.Signal) (set uint64) {
	for _, s := range signals {
		set |= 1 << (s - 1)
	}
	return set
}

// block blocks signals for the calling thread, and for all of a program that it becomes.
func block(how uintptr, set uint64) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, how, uintptr(unsafe.Pointer(&set)), 0, 8, 0,
		0); errno != 0 {
		return errno
	}
	return nil
}

// blockAndJoin is JoinCommand. It begins again with its signals blocked, so that they can be read: package os/signal would
// be initialized after most of the program, which takes longer than that.
func blockAndJoin(first string) error {
	runtime.LockOSThread()
	if err := block(sigBlock, signalSet(passed...)); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", []string{os.Args[0], joinedCommand, first}, os.Environ())
}

// join gives this process's descriptors to a program in the container, passes signals on, and ends as that does. It runs
// outside, and believes of what comes from the container how the program ended.
func join(first string) error {
	order, err := strconv.Atoi(first)
	if err != nil || order < 3 || order > MostFDs {
		return errors.New("this command is for ahphub itself")
	}
	conn, set := order+2, signalSet(passed...)
	signals, _, errno := syscall.RawSyscall6(syscall.SYS_SIGNALFD4, ^uintptr(0), uintptr(unsafe.Pointer(&set)), 8,
		syscall.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return errno
	}
	fds := []int{order}
	for fd := range order {
		fds = append(fds, fd)
	}
	if err := Send(conn, SayStart, fds...); err != nil {
		return errors.New("this session's container has ended: " + err.Error())
	}
	if err := release(order); err != nil {
		return err
	}
	go passSignals(int(signals), conn)
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

// passSignals tells the container of the signals that this process gets.
func passSignals(from, conn int) {
	buf := make([]byte, 128) // of one signal: its number is first
	for {
		n, err := syscall.Read(from, buf)
		if n == len(buf) {
			_ = Send(conn, SaySignal+strconv.Itoa(int(*(*uint32)(unsafe.Pointer(&buf[0])))))
		} else if !errors.Is(err, syscall.EINTR) {
			return
		}
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
	if n, ok := numberAfter(how, SayExit); ok && n < 256 {
		os.Exit(n)
	}
	if n, ok := numberAfter(how, SaySignal); ok && n > 0 && n < 65 {
		die(syscall.Signal(n))
	}
	if len(how) > len(SayFailure) && how[:len(SayFailure)] == SayFailure {
		return errors.New(how[len(SayFailure):])
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

// die ends this process by a signal, without a core file.
func die(s syscall.Signal) {
	runtime.LockOSThread()
	_ = errors.Join(Hide(), handle(sigDefault, s), block(sigUnblock, signalSet(s)), syscall.Kill(syscall.Getpid(), s))
	select {} // the signal ends it
}
