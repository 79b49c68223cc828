package loopback

import (
	"fmt"
	"net/netip"
	"syscall"
)

// reserve binds a socket that never listens. Programs that listen set SO_REUSEADDR too, so they can
// bind the same port; the system never chooses a bound port by itself.
func reserve() (string, func(), error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("make a socket: %w", err)
	}
	release := func() { _ = syscall.Close(fd) } // no data can be lost
	port, err := bind(fd)
	if err != nil {
		release()
		return "", nil, fmt.Errorf("bind a port of 127.0.0.1: %w", err)
	}
	return netip.AddrPortFrom(loopback, port).String(), release, nil
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// bind binds a socket to a port that the system chooses.
func bind(fd int) (port uint16, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback.As4()}); err != nil {
		return 0, err
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	in4, ok := at.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("it is bound to %T", at)
	}
	return uint16(in4.Port), nil
}
