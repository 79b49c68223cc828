package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/sandbox/relayed"
)

// An agent on a machine uses the hub's tools over connections of its session. Each is a stream that the machine opens
// with the session's conduit. The hub answers only requests with a token of that session.

const (
	toolsMethod  = "agents.tools"
	mostTools    = 256 // connections of one machine
	sessionTools = 16  // connections of one session
	toolsPiece   = 32 << 10

	toolsHeader = 10 * time.Second
	toolsIdle   = 2 * time.Minute
)

// Door lets agents on this computer reach their hub's tools. It is for the machine's side.
type Door interface {
	// Add opens the door to an agent until ctx ends; dial connects to the hub.
	Add(ctx context.Context, servers []agent.MCPServer, dial func(context.Context) (net.Conn, error)) (
		[]agent.MCPServer, error)
}

// toolsCall opens a connection to the tools of a session.
type toolsCall struct{ Conduit string }

// tools serves the hub's tools to the sessions of one machine.
type tools struct {
	listener *relayed.Listener
	server   *http.Server
	ended    chan struct{}

	mu   sync.Mutex
	by   map[string]*toolsSession // by conduit
	open int
}

// toolsSession is the tools of one session.
type toolsSession struct {
	ctx    context.Context // ends with the session
	tokens map[[sha256.Size]byte]bool
	open   int // guarded by the tools' mu
}

// newTools returns a server of h, or nil if h is nil.
func newTools(h http.Handler, log *slog.Logger) *tools {
	if h == nil {
		return nil
	}
	t := &tools{listener: relayed.New(), by: map[string]*toolsSession{}, ended: make(chan struct{})}
	t.server = &http.Server{Handler: onlyOwn(h), ReadHeaderTimeout: toolsHeader, IdleTimeout: toolsIdle,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if own, ok := relayed.Unwrap(c).(*toolsConn); ok {
				return context.WithValue(ctx, toolsKey{}, own.session)
			}
			return ctx
		}}
	go func() {
		defer close(t.ended)
		_ = t.server.Serve(t.listener) // ended by close
	}()
	return t
}

type toolsKey struct{}

// toolsConn is a connection of a session.
type toolsConn struct {
	net.Conn
	session *toolsSession
}

// onlyOwn passes on requests with a token of the connection's session.
func onlyOwn(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, ok := r.Context().Value(toolsKey{}).(*toolsSession)
		token, isToken := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || !isToken || !s.tokens[sha256.Sum256([]byte(token))] {
			http.Error(w, "This token is not of this session.", http.StatusForbidden)
			return
		}
		r.RemoteAddr = "127.0.0.1:1" // like an agent on the hub's own computer
		h.ServeHTTP(w, r)
	})
}

// add serves the tools of a session until it ends, and returns its servers for the machine.
func (t *tools) add(ctx context.Context, conduit string, servers []agent.MCPServer) []agent.MCPServer {
	if t == nil {
		return servers
	}
	s := &toolsSession{ctx: ctx, tokens: map[[sha256.Size]byte]bool{}}
	out := make([]agent.MCPServer, len(servers))
	for i, server := range servers {
		out[i] = agent.MCPServer{Name: server.Name, Headers: server.Headers}
		if token, ok := strings.CutPrefix(server.Headers["Authorization"], "Bearer "); ok && token != "" {
			s.tokens[sha256.Sum256([]byte(token))] = true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.by[conduit] = s
	return out
}

// remove ends the tools of a session.
func (t *tools) remove(conduit string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, conduit)
}

func (t *tools) close() {
	if t == nil {
		return
	}
	_ = t.server.Close() // ends its connections
	_ = t.listener.Close()
	<-t.ended
}

// take counts a new connection.
func (t *tools) take(conduit string) (*toolsSession, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.by[conduit]
	switch {
	case s == nil:
		return nil, errors.New("this session has no tools, or has ended")
	case t.open >= mostTools || s.open >= sessionTools:
		return nil, errors.New("too many connections to the hub's tools are open. Close some")
	}
	t.open++
	s.open++
	return s, nil
}

func (t *tools) giveBack(s *toolsSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	s.open--
}

// serve answers a connection of a session.
func (t *tools) serve(ctx context.Context, stream *pipe.Stream) error {
	var q toolsCall
	if err := stream.Receive(&q); err != nil {
		return err
	}
	s, err := t.take(q.Conduit)
	if err != nil {
		return err
	}
	defer t.giveBack(s)
	if err := stream.Send(struct{}{}); err != nil {
		return err
	}
	here, there := net.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	defer context.AfterFunc(ctx, func() { here.Close() })()
	defer there.Close()
	go t.listener.Hand(&toolsConn{there, s})                     // until there is closed
	go func() { _ = receiveBytes(stream, here); here.Close() }() // until the stream has ended
	return sendBytes(stream, here)
}

// sendBytes sends everything read from a connection.
func sendBytes(s *pipe.Stream, from net.Conn) error {
	for buffer := make([]byte, toolsPiece); ; {
		n, err := from.Read(buffer)
		if n > 0 {
			if err := s.Send(buffer[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// receiveBytes writes everything received to a connection.
func receiveBytes(s *pipe.Stream, to net.Conn) error {
	for {
		var b []byte
		if err := s.Receive(&b); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
}

// dialTools connects to the hub's tools of a session.
func (s *Server) dialTools(ctx context.Context, conduit string) (net.Conn, error) {
	s.mu.Lock()
	peer := s.peer
	s.mu.Unlock()
	if peer == nil {
		return nil, machine.ErrOffline
	}
	stream, err := peer.Open(context.WithoutCancel(ctx), toolsMethod)
	if err != nil {
		return nil, errors.Join(machine.ErrOffline, err)
	}
	stop := context.AfterFunc(ctx, stream.Close)
	if err = stream.Send(toolsCall{conduit}); err == nil {
		err = stream.Receive(&struct{}{})
	}
	if !stop() || err != nil {
		stream.Close()
		return nil, errors.Join(context.Cause(ctx), err)
	}
	here, there := net.Pipe()
	go func() {
		defer stream.Close()
		go func() { _ = receiveBytes(stream, there); there.Close() }()
		_ = sendBytes(stream, there)
		there.Close()
	}()
	return here, nil
}
