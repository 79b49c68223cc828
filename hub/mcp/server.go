package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
)

// Path is where the endpoint is mounted.
const Path = "/mcp"

// Environment variables that configure the bridge.
const (
	EnvURL   = "AHPHUB_MCP_URL"
	EnvToken = "AHPHUB_MCP_TOKEN"
)

// Host resolves tokens.
type Host interface {
	Toolbox(token string) (*host.Toolbox, bool)
	Relay(token string) (*host.Relay, bool)
}

// tokenTarget is the target of a token: the host's own tools, or a session's MCP server.
type tokenTarget interface {
	Session() ahp.URI
	Context() context.Context
}

func (s *Server) targetOf(token string) (tokenTarget, bool) {
	if box, ok := s.cfg.Host.Toolbox(token); ok {
		return box, true
	}
	r, ok := s.cfg.Host.Relay(token)
	return r, ok
}

// Config of a Server. Zero fields take the stated default.
type Config struct {
	Host    Host
	Version string // of the program, sent to clients
	Log     *slog.Logger
	Limits  Limits
}

// Limits bounds the concurrent use of one agent.
type Limits struct {
	Calls       int // concurrent tool calls: 16
	Connections int // of one agent; a new one replaces the oldest: 32
	ClientTools int // listed tools of clients: 256
	Input       int // bytes of a client tool's input: 256 KiB
	Output      int // bytes of text in a result: 256 KiB; the rest is cut off with a note

	Progress time.Duration // interval of progress messages of a client's tool: 15 s
}

func (l Limits) withDefaults() Limits {
	l.Calls = cmp.Or(l.Calls, 16)
	l.Connections = cmp.Or(l.Connections, 32)
	l.ClientTools = cmp.Or(l.ClientTools, 256)
	l.Input = cmp.Or(l.Input, 256<<10)
	l.Output = cmp.Or(l.Output, 256<<10)
	l.Progress = cmp.Or(l.Progress, 15*time.Second)
	return l
}

// Server answers at Path. Call New, then Close.
type Server struct {
	cfg Config
	log *slog.Logger
	wg  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	sessions map[tokenTarget]*session
}

// New returns a server.
func New(cfg Config) *Server {
	cfg.Limits = cfg.Limits.withDefaults()
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Server{cfg: cfg, log: cfg.Log, sessions: map[tokenTarget]*session{}}
}

// Reach returns how an agent on this machine reaches the endpoint at base with a token: by HTTP, or
// by starting program with the argument mcp.
func Reach(base, program string) func(token string) []agent.MCPServer {
	return func(token string) []agent.MCPServer {
		url := strings.TrimSuffix(base, "/") + Path
		return []agent.MCPServer{{
			Name: "ahphub", URL: url, Headers: map[string]string{"Authorization": "Bearer " + token},
			Command: []string{program, "mcp"}, Env: []string{EnvURL + "=" + url, EnvToken + "=" + token},
		}}
	}
}

// Knows reports whether a token is valid at present.
func (s *Server) Knows(token string) bool {
	_, ok := s.targetOf(token)
	return ok
}

// ServeHTTP answers an agent with its token in the header. The context of a request ends with the
// token.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	of, ok := s.targetOf(token)
	if !ok {
		http.Error(w, "This token has ended with its agent's session.", http.StatusForbidden)
		return
	}
	n := s.enter(of)
	if n == nil {
		http.Error(w, "The server is stopping.", http.StatusServiceUnavailable)
		return
	}
	defer n.requests.Done()
	r.Header.Del("Authorization") // nothing later sees it
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(of.Context(), func() { cancel(context.Cause(of.Context())) })()
	n.serve(w, r.WithContext(ctx))
}

// enter counts a session's request, and creates the session on first use.
func (s *Server) enter(of tokenTarget) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.sessions[of]
	if n == nil && !s.closed {
		n = newSession(s, of)
		s.sessions[of] = n
		s.wg.Go(n.follow)
	}
	if n == nil || n.over {
		return nil
	}
	n.requests.Add(1)
	return n
}

// leave removes a session whose toolbox was shut, once its requests are answered.
func (s *Server) leave(n *session) {
	s.mu.Lock()
	n.over = true
	s.mu.Unlock()
	n.disconnect()
	n.requests.Wait()
	n.disconnect() // connections made in the meantime
	s.mu.Lock()
	delete(s.sessions, n.of)
	s.mu.Unlock()
}

// Close waits until every session has ended; stop the host first, which shuts their toolboxes.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wg.Wait()
}
