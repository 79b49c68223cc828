//go:build !unix

package upgrade

import (
	"errors"
	"net"
	"syscall"
)

// rawConn returns nil: reading goes through net.Conn.
func rawConn(net.Conn) syscall.RawConn { return nil }

func readReady(syscall.RawConn) (*[readSize]byte, int, error) { return nil, 0, errors.ErrUnsupported }
