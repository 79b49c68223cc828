//go:build unix

package upgrade

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// rawConn returns the descriptor of a connection without TLS, nil for any other.
func rawConn(c net.Conn) syscall.RawConn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// readReady waits until data is available, and only then takes a buffer.
func readReady(raw syscall.RawConn) (buffer *[readSize]byte, n int, err error) {
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		buffer = readBuffers.Get().(*[readSize]byte)
		for {
			n, failed = syscall.Read(int(fd), buffer[:])
			if !errors.Is(failed, syscall.EINTR) {
				break
			}
		}
		if !errors.Is(failed, syscall.EAGAIN) {
			return true
		}
		readBuffers.Put(buffer)
		return false
	})
	switch {
	case err != nil: // the connection was closed while it waited
		return nil, 0, err
	case failed == nil && n == 0:
		failed = io.EOF
	case failed == nil:
		return buffer, n, nil
	}
	readBuffers.Put(buffer)
	return nil, 0, failed
}
