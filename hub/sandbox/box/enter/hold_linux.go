package enter

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// hold implements HoldCommand: the first process of a box. It keeps the box alive while the hub holds the other end of
// its control socket, opens pseudo terminals of the box, and listens on relayed ports. args are the ports.
func hold(args []string) error {
	runtime.LockOSThread() // the parent death signal belongs to a thread
	// Only bubblewrap needed file descriptors of the host's directories, and no program here may inspect this one.
	if err := errors.Join(closeInherited(), call(syscall.SYS_PRCTL, prSetDumpable, 0, 0),
		call(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0)); err != nil {
		return err
	}
	// Orphans become children of this process: ignoring SIGCHLD prevents zombies.
	if err := handle(sigIgnore, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGCHLD); err != nil {
		return err
	}
	syscall.CloseOnExec(ControlFD)
	syscall.CloseOnExec(RelayFD)
	if err := RelayPorts(ControlFD, RelayFD, args); err != nil {
		return err
	}
	buf := make([]byte, 64)
	for {
		n, _, err := syscall.Recvfrom(ControlFD, buf, 0)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || n == 0:
			return nil // the hub is gone; the box ends with its first process
		case string(buf[:n]) == AskPty:
			if err := AnswerPty(ControlFD); err != nil {
				return err
			}
		}
	}
}

// Send sends one message with file descriptors.
func Send(fd int, message string, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	return syscall.Sendmsg(fd, []byte(message), rights, nil, syscall.MSG_NOSIGNAL)
}

// closeInherited closes the file descriptors that this program inherited, except its standard ones and its sockets. Its
// own are closed on exec.
func closeInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 || fd == ControlFD || fd == RelayFD {
			continue
		}
		flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
	return nil
}

// AnswerPty opens a pseudo terminal and sends both ends.
func AnswerPty(to int) error {
	master, slave, err := OpenPty()
	if err != nil {
		return Send(to, SayFailure+err.Error())
	}
	defer syscall.Close(master)
	defer syscall.Close(slave)
	return Send(to, AskPty, master, slave)
}

// OpenPty opens both ends of a new pseudo terminal.
func OpenPty() (master, slave int, err error) {
	const flags = syscall.O_RDWR | syscall.O_NOCTTY | syscall.O_CLOEXEC
	if master, err = syscall.Open("/dev/ptmx", flags, 0); err != nil {
		return -1, -1, err
	}
	var lock, n int32
	if err = control(master, syscall.TIOCSPTLCK, &lock); err == nil {
		if err = control(master, syscall.TIOCGPTN, &n); err == nil {
			slave, err = syscall.Open("/dev/pts/"+strconv.Itoa(int(n)), flags, 0)
		}
	}
	if err != nil {
		_ = syscall.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

// control makes an ioctl with a number.
func control(fd int, request uintptr, value *int32) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request,
		uintptr(unsafe.Pointer(value))); errno != 0 {
		return errno
	}
	return nil
}

// RelayPorts listens on ports that lead to the hub, and reports on its control socket that the box is ready.
func RelayPorts(control, relay int, ports []string) error {
	for i, port := range ports {
		if err := relayPort(relay, byte(i), port); err != nil {
			_ = Send(control, SayFailure+err.Error())
			return err
		}
	}
	return Send(control, SayReady)
}

// relayPort listens on a port of the box's loopback, and passes each connection to the hub. It avoids package net,
// which is initialized after most of the program.
func relayPort(relay int, index byte, port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return errors.New(strconv.Quote(port) + " is no port")
	}
	four, err := listen(syscall.AF_INET, &syscall.SockaddrInet4{Port: int(n), Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		return errors.New("port " + port + ": " + err.Error())
	}
	go passConns(relay, index, four)
	six, err := listen(syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(n), Addr: [16]byte{15: 1}})
	if err == nil { // if IPv6 works
		go passConns(relay, index, six)
	}
	return nil
}

func listen(domain int, at syscall.Sockaddr) (int, error) {
	fd, err := syscall.Socket(domain, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, at)
	}
	if err == nil {
		err = syscall.Listen(fd, syscall.SOMAXCONN)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

func passConns(relay int, index byte, listener int) {
	for {
		conn, _, err := syscall.Accept4(listener, syscall.SOCK_CLOEXEC)
		switch {
		case err == nil:
			_ = Send(relay, string([]byte{index}), conn) // on failure the client sees the connection end
			_ = syscall.Close(conn)
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ECONNABORTED):
		default:
			_, _ = os.Stderr.WriteString("ahphub: a relayed port is closed: " + err.Error() + "\n")
			return
		}
	}
}
