package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// ServeHTTP answers one request. A socket outlives its request, whose goroutine and buffers would
// be most of its cost.
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
	s.serveSocket(base, s.handler, w, r)
}

// serveSocket lets h answer a request that may become a socket. The caller has counted it as open.
func (s *Server) serveSocket(base context.Context, h http.Handler, w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	upgrade.Serve(base, h, w, r, func(panicked any) {
		if panicked != nil {
			s.cfg.Log.Error("a socket panicked", "path", access.LoggedPath(path), "cause", fmt.Sprint(panicked),
				"stack", string(debug.Stack()))
		}
		s.open.Done()
	})
}

// baseKey is the context key of the context that ends with the server.
type baseKey struct{}

// errStopping is the cause that ends open streams at shutdown.
var errStopping = errors.New("the server is stopping")

// IsStopping reports whether the context of a request ended because its Front stops.
func IsStopping(request context.Context) bool {
	return errors.Is(context.Cause(request), errStopping)
}

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

// AgentHandler answers as ServeAgents does, on connections of the caller.
func (s *Server) AgentHandler() http.Handler { return s.agentRoutes() }

// ServeRedirect serves h on l without TLS: the redirect to the server's own address.
func (s *Server) ServeRedirect(ctx context.Context, l net.Listener, h http.Handler) error {
	return s.serve(ctx, l, h, nil)
}

func (s *Server) serve(ctx context.Context, l net.Listener, h http.Handler, secure *tls.Config) error {
	return Front{Handler: h, TLS: secure, Limits: s.cfg.Limits, Log: s.cfg.Log, drain: s.drain}.Serve(ctx, l)
}

// Close unregisters the metrics of New. The server must not serve afterwards.
func (s *Server) Close() { s.counters.close() }

func (s *Server) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() { s.open.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
