package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub/access"
)

// Server answers HTTP. Call New, then Serve once.
type Server struct {
	cfg      Config
	hosts    hosts
	guesses  guesses
	counters *counters
	handler  chi.Router
	open     sync.WaitGroup // requests, including upgraded ones, which http.Server does not wait for
}

// New returns a server.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, hosts: newHosts(cfg), counters: newCounters(cfg.Registry, cfg.Metrics),
		guesses: newGuesses(cfg.Limits.Failures)}
	cfg.Tokens.SetPersons(s.person)
	s.handler = s.routes()
	return s, nil
}

// Routes returns the routes, for walking.
func (s *Server) Routes() chi.Routes { return s.handler }

// ServeHTTP answers one request. A socket outlives its request, whose goroutine and buffers would be most of what
// it costs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.open.Add(1)
	if !isSocket(r) {
		defer s.open.Done()
		s.handler.ServeHTTP(w, r)
		return
	}
	base, ok := r.Context().Value(baseKey{}).(context.Context)
	if !ok {
		base = context.Background()
	}
	path := r.URL.Path
	upgrade.Serve(base, s.handler, w, r, func(panicked any) {
		if panicked != nil {
			s.cfg.Log.Error("a socket panicked", "path", access.LoggedPath(path), "cause", fmt.Sprint(panicked),
				"stack", string(debug.Stack()))
		}
		s.open.Done()
	})
}

// baseKey is the key of the context that ends with the server, in those of its requests.
type baseKey struct{}

// errStopping is the cause that ends open streams at shutdown.
var errStopping = errors.New("the server is stopping")

// Serve answers on l, over TLS if configured, until ctx ends. Then it ends open streams, waits for
// requests for at most Limits.Stop, and returns.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, s, s.cfg.TLS)
}

// ServeAgents answers only agents on this machine, without TLS: no certificate covers the address
// they use.
func (s *Server) ServeAgents(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, s.agentRoutes(), nil)
}

// AgentHandler answers as ServeAgents does, by connections of the caller.
func (s *Server) AgentHandler() http.Handler { return s.agentRoutes() }

// ServeRedirect serves h on l without TLS: the redirect to the server's own address.
func (s *Server) ServeRedirect(ctx context.Context, l net.Listener, h http.Handler) error {
	return s.serve(ctx, l, h, nil)
}

func (s *Server) serve(ctx context.Context, l net.Listener, h http.Handler, secure *tls.Config) error {
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errStopping)
	fresh := &freshConns{}
	srv := &http.Server{
		Handler:           h,
		TLSConfig:         secure,
		ConnState:         fresh.note,
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(base, baseKey{}, base) },
		ReadHeaderTimeout: s.cfg.Limits.Read,
		IdleTimeout:       s.cfg.Limits.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		if secure == nil {
			failed <- srv.Serve(l)
			return
		}
		failed <- srv.ServeTLS(l, "", "")
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end(errStopping)
	fresh.close()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Limits.Stop)
	defer cancel()
	err := srv.Shutdown(grace)
	s.drain(grace)
	srv.Close()
	<-failed
	if errors.Is(err, context.DeadlineExceeded) {
		s.cfg.Log.Warn("open requests were aborted at shutdown", "after", s.cfg.Limits.Stop)
		return nil
	}
	return err
}

func (s *Server) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() { s.open.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// freshConns are connections without a request yet. Browsers open them in advance, and Shutdown
// would wait for their first request.
type freshConns struct {
	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	closing bool
}

func (f *freshConns) note(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state != http.StateNew {
		delete(f.conns, c)
		return
	}
	if f.closing {
		c.Close()
		return
	}
	if f.conns == nil {
		f.conns = map[net.Conn]struct{}{}
	}
	f.conns[c] = struct{}{}
}

func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closing = true
	for c := range f.conns {
		c.Close()
	}
}
