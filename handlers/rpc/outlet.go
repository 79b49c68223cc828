package rpc

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// outlet is the net.Conn below a WebSocket. While it is held, frames gather, so that those of one
// batch share a system call. A piece that is not written in time is an error: a deadline costs less
// than a context for every write.
type outlet struct {
	net.Conn
	timeout time.Duration

	mu   sync.Mutex
	buf  []byte
	held bool
}

const (
	piece   = 64 << 10 // written at once, under one deadline
	keepBuf = 8 << 10  // capacity an idle connection may keep
)

func (o *outlet) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = true
}

// release writes the gathered frames.
func (o *outlet) release() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = false
	err := o.flush()
	if cap(o.buf) > keepBuf {
		o.buf = nil
	}
	return err
}

func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held && len(o.buf)+len(p) <= piece {
		o.buf = append(o.buf, p...)
		return len(p), nil
	}
	if err := o.flush(); err != nil {
		return 0, err
	}
	if o.held && len(p) < piece/2 {
		o.buf = append(o.buf, p...)
		return len(p), nil
	}
	return len(p), o.send(p)
}

func (o *outlet) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	err := o.send(o.buf)
	o.buf = o.buf[:0]
	return err
}

func (o *outlet) send(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), piece)
		if err := o.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
			return err
		}
		if _, err := o.Conn.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// hijacker inserts an outlet below the WebSocket of an upgrade.
type hijacker struct {
	http.ResponseWriter
	out *outlet
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.out.Conn = conn
	return h.out, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(h.out, 4<<10)), nil
}
