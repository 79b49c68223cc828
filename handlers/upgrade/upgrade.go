// Package upgrade makes WebSockets of requests. One on which nothing happens costs little memory: its buffers come from
// pools while they hold something, and it can outlive its request, whose goroutine and buffers are free then.
package upgrade

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// The library's own buffers: a header is read into the one, a header or a control frame waits in the other.
const (
	headerRead  = 16
	headerWrite = 256
)

// Accept upgrades a request. A piece of 64 KiB that is not taken within the timeout ends the connection.
func Accept(w http.ResponseWriter, r *http.Request, timeout time.Duration,
	o *websocket.AcceptOptions) (*websocket.Conn, *Conn, error) {
	c := &Conn{timeout: timeout}
	ws, err := websocket.Accept(&hijacker{w, c}, r, o)
	return ws, c, err
}

// hijacker puts a Conn below the WebSocket that an upgrade makes.
type hijacker struct {
	http.ResponseWriter
	conn *Conn
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered())
	h.conn.Conn, h.conn.pending, h.conn.raw = conn, slices.Clone(early), rawConn(conn)
	return h.conn, bufio.NewReadWriter(bufio.NewReaderSize(h.conn, headerRead), bufio.NewWriterSize(h.conn,
		headerWrite)), nil
}
