// Package upgrade upgrades requests to WebSockets. An idle WebSocket costs little memory: its buffers come from
// pools while they hold data, and it can outlive its request, whose goroutine and buffers are then free.
package upgrade

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// Sizes of the library's own buffers: one holds a header that is read, the other a header or a
// control frame to write.
const (
	headerRead  = 16
	headerWrite = 256
)

// Accept upgrades a request. A piece of 64 KiB that is not sent within the timeout ends the connection.
func Accept(w http.ResponseWriter, r *http.Request, timeout time.Duration,
	o *websocket.AcceptOptions) (*websocket.Conn, *Conn, error) {
	c := &Conn{timeout: timeout}
	ws, err := websocket.Accept(&hijacker{w, c}, r, o)
	return ws, c, err
}

// hijacker inserts a Conn below the WebSocket of an upgrade.
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
