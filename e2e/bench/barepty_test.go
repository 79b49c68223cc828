package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/coder/websocket"
	"github.com/creack/pty"
)

// The bare terminal only copies one shell's pty to every WebSocket and their text frames to the
// pty: the baseline of terminals, in a separate process.
const barePtyEnv = "AHPHUB_BENCH_BARE_PTY"

func barePtyMain() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	f, err := pty.Start(exec.Command("/bin/sh"))
	if err != nil {
		return err
	}
	s := &barePty{pty: f}
	go s.copy()
	fmt.Println(ln.Addr().String())
	go func() { // the parent closes our standard input to stop us
		var b [1]byte
		_, _ = os.Stdin.Read(b[:])
		os.Exit(0)
	}()
	return http.Serve(ln, http.HandlerFunc(s.accept))
}

type barePty struct {
	pty   *os.File
	mu    sync.Mutex
	conns []*websocket.Conn
}

func (s *barePty) copy() {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.pty.Read(buf)
		if err != nil {
			return
		}
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Write(context.Background(), websocket.MessageBinary, buf[:n])
		}
		s.mu.Unlock()
	}
}

func (s *barePty) accept(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	for {
		_, b, err := c.Read(context.Background())
		if err != nil {
			return
		}
		_, _ = s.pty.Write(b)
	}
}
