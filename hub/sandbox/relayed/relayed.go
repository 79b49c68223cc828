// Package relayed provides a listener for connections that boxes hand over, so that an HTTP server can serve them.
package relayed

import (
	"net"
	"sync"
)

// Listener accepts connections passed to Hand.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// New returns a listener.
func New() *Listener { return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})} }

// conn signals when it is closed.
type conn struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

func (c *conn) Close() error {
	defer c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// CloseWrite ends sending, if the connection supports it.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Unwrap returns the connection that was passed to Hand, for an accepted one.
func Unwrap(accepted net.Conn) net.Conn {
	if c, ok := accepted.(*conn); ok {
		return c.Conn
	}
	return accepted
}

// Hand passes a connection to Accept, and returns once it is closed.
func (l *Listener) Hand(handed net.Conn) {
	c := &conn{Conn: handed, gone: make(chan struct{})}
	select {
	case l.conns <- c:
		<-c.gone
	case <-l.closed:
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
