package site

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/a-h/templ"
)

// Send renders a page. A small page is rendered to memory first, so that a failing template sends nothing partial.
// Of a large page, the browser gets the beginning while the rest is rendered; on failure, the connection is
// aborted.
func Send(w http.ResponseWriter, status int, c templ.Component) error {
	out := sender{to: w, status: status}
	err := c.Render(context.Background(), &out)
	switch {
	case out.err != nil:
		return nil // the client disconnected
	case err != nil && out.sent > 0:
		panic(fmt.Errorf("a page failed half way: %w", err)) // the server logs it and aborts the connection
	case err != nil:
		return err
	}
	out.send()
	return nil
}

// The first bytes of a large page are sent and flushed in pieces: otherwise the compressor and the connection would
// buffer them. flushedBytes cover the first screen; after that, larger pieces cost less.
const (
	pieceBytes   = 128 << 10
	flushedBytes = 1 << 20
)

// sender sends its input in pieces.
type sender struct {
	to     http.ResponseWriter
	status int
	piece  bytes.Buffer
	sent   int
	err    error // of the connection
}

func (s *sender) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.piece.Write(b)
	if s.piece.Len() < pieceBytes {
		return len(b), nil
	}
	s.send()
	if s.err == nil && s.sent <= flushedBytes {
		_ = http.NewResponseController(s.to).Flush() // if flushing fails, the piece is sent later
	}
	return len(b), s.err
}

// send sends the current piece, and the headers before the first one.
func (s *sender) send() {
	if s.sent == 0 {
		h := s.to.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		if h.Get("Cache-Control") == "" {
			h.Set("Cache-Control", "no-store")
		}
		s.to.WriteHeader(s.status)
	}
	var n int
	n, s.err = s.to.Write(s.piece.Bytes())
	s.sent += max(n, 1)
	s.piece.Reset()
}
