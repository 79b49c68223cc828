package upgrade

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// Conn is the net.Conn below a WebSocket. While held, it gathers frames, so that the frames of one batch share a
// system call. A piece that is not sent in time is an error: a deadline costs less than a context for every write.
type Conn struct {
	net.Conn
	timeout time.Duration

	raw     syscall.RawConn // nil when reads go through net.Conn, as with TLS
	pending []byte          // read but not consumed yet; owned by the reader
	buffer  *[readSize]byte // holds pending; nil when pending came with the request

	mu   sync.Mutex
	out  []byte
	held bool
}

const (
	piece    = 64 << 10 // sent at once, under one deadline
	readSize = 4 << 10
	outSize  = 4 << 10
)

// Connections hold buffers only while data is in them: most connections are idle most of the time.
var (
	readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}
	outBuffers  = sync.Pool{New: func() any { b := make([]byte, 0, outSize); return &b }}
)

// Read returns available data, and waits for more without holding a buffer.
func (c *Conn) Read(p []byte) (int, error) {
	if len(c.pending) > 0 {
		n := copy(p, c.pending)
		c.pending = c.pending[n:]
		if len(c.pending) == 0 {
			c.dropBuffer()
		}
		return n, nil
	}
	if c.raw == nil || len(p) >= readSize {
		return c.Conn.Read(p)
	}
	return c.fill(p)
}

// fill reads more than p holds, since the next frames have often arrived already.
func (c *Conn) fill(p []byte) (int, error) {
	buffer, n, err := readReady(c.raw)
	if err != nil {
		return 0, err
	}
	m := copy(p, buffer[:n])
	if m == n {
		readBuffers.Put(buffer)
		return m, nil
	}
	c.buffer, c.pending = buffer, buffer[m:n]
	return m, nil
}

func (c *Conn) dropBuffer() {
	if c.buffer != nil {
		readBuffers.Put(c.buffer)
	}
	c.pending, c.buffer = nil, nil
}

// Hold gathers frames until Release.
func (c *Conn) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

// Release sends the gathered frames.
func (c *Conn) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	return c.flush()
}

func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held && len(c.out)+len(p) <= piece {
		c.gather(p)
		return len(p), nil
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	if c.held && len(p) < piece/2 {
		c.gather(p)
		return len(p), nil
	}
	return len(p), c.send(p)
}

func (c *Conn) gather(p []byte) {
	if c.out == nil {
		c.out = (*outBuffers.Get().(*[]byte))[:0]
	}
	c.out = append(c.out, p...)
}

func (c *Conn) flush() error {
	if c.out == nil {
		return nil
	}
	var err error
	if len(c.out) > 0 {
		err = c.send(c.out)
	}
	if b := c.out[:0]; cap(b) <= 2*piece {
		outBuffers.Put(&b)
	}
	c.out = nil
	return err
}

func (c *Conn) send(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), piece)
		if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return err
		}
		if _, err := c.Conn.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
