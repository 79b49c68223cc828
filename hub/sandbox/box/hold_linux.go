package box

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The holder's descriptors, and what is said on the first of them.
const (
	controlFD = 4 // one message for each request and each answer
	relayFD   = 5 // one message for each relayed connection: the index of its relay, and the connection

	sayReady   = "ready"
	askPty     = "pty"
	sayFailure = "failed: "
)

// Hold is HoldCommand: the first process of a box. It keeps the box alive while the hub holds the other end of its
// control socket, opens pseudo terminals of the box, and listens for relayed ports. args are the ports.
func Hold(args []string) error {
	runtime.LockOSThread() // the signal below is a thread's
	// Descriptors of the host's directories were for bubblewrap alone, and no program here may look into this one.
	if err := errors.Join(closeInherited(), unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)); err != nil {
		return err
	}
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	go reap()
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(relayFD)
	for i, arg := range args {
		if err := relayPort(byte(i), arg); err != nil {
			_ = unix.Send(controlFD, []byte(sayFailure+err.Error()), unix.MSG_NOSIGNAL)
			return err
		}
	}
	if err := unix.Send(controlFD, []byte(sayReady), unix.MSG_NOSIGNAL); err != nil {
		return err
	}
	buf := make([]byte, 64)
	for {
		n, _, err := unix.Recvfrom(controlFD, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n == 0:
			return nil // the hub is gone: so is the box, with its first process
		case string(buf[:n]) == askPty:
			if err := answerPty(); err != nil {
				return err
			}
		}
	}
}

// reap waits for processes whose parent ended before them: the first process of a box inherits them.
func reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	for range ended {
		for {
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
}

// closeInherited closes the descriptors that this program was started with, but for its standard ones and its sockets.
// Those that it opened itself close on exec.
func closeInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 || fd == controlFD || fd == relayFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// answerPty opens a pseudo terminal and sends both of its ends.
func answerPty() error {
	master, slave, err := openPty()
	if err != nil {
		return unix.Send(controlFD, []byte(sayFailure+err.Error()), unix.MSG_NOSIGNAL)
	}
	defer unix.Close(master)
	defer unix.Close(slave)
	return unix.Sendmsg(controlFD, []byte(askPty), unix.UnixRights(master, slave), nil, unix.MSG_NOSIGNAL)
}

func openPty() (master, slave int, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	if master, err = unix.Open("/dev/ptmx", flags, 0); err != nil {
		return -1, -1, err
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err == nil {
		var n uint32
		if n, err = unix.IoctlGetUint32(master, unix.TIOCGPTN); err == nil {
			slave, err = unix.Open(fmt.Sprintf("/dev/pts/%d", n), flags, 0)
		}
	}
	if err != nil {
		_ = unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

// relayPort listens on a port of the box's loopback, and hands each connection to the hub.
func relayPort(index byte, port string) error {
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is no port", port)
	}
	four, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "listen "))
	}
	go passConns(index, four)
	if six, err := net.Listen("tcp6", net.JoinHostPort("::1", port)); err == nil { // where there is IPv6
		go passConns(index, six)
	}
	return nil
}

func passConns(index byte, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "ahphub: a relayed port is closed:", err)
			return
		}
		_ = passConn(index, conn.(*net.TCPConn)) // a client whose connection is not passed sees its end
	}
}

func passConn(index byte, conn *net.TCPConn) error {
	defer conn.Close()
	f, err := conn.File()
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Sendmsg(relayFD, []byte{index}, unix.UnixRights(int(f.Fd())), nil, unix.MSG_NOSIGNAL)
}
