package rpc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/quota"
)

// Config of the endpoint; zero fields take the stated default.
type Config struct {
	Host        Host
	Automations Automations
	Terminals   Terminals
	Files       Files
	Hub         *hub.Hub
	Clients     ClientStore
	Log         *slog.Logger // default: slog.Default()

	Name, Version    string   // of this program, sent to clients
	DefaultDirectory ahp.URI  // sent to clients; "" sends nothing (AHP requirement 14)
	Origins          []string // further hosts whose pages may connect with a cookie: that of the public URL
	Limits           Limits
	Sockets          *quota.Pool // open connections; nil: no limit
	Frames           *quota.Pool // bytes of incoming frames over 64 KiB; nil: no limit
	Answers          *quota.Pool // bytes of snapshots that clients have not read; nil: no limit

	// Admit returns the principal of a bearer of a link's token with this clientId; nil:
	// principals are not changed.
	Admit func(ctx context.Context, p access.Principal, clientID, name string) (access.Principal, error)

	// AwaitNodes waits until other nodes of a cluster no longer show deleted content; nil:
	// there are none.
	AwaitNodes func(context.Context)

	Telemetry Telemetry                    // nil: none is sent
	Audit     *audit.Log                   // nil: calls are not recorded
	Tracer    trace.Tracer                 // nil: no spans
	Count     func(method, outcome string) // counts requests; nil: none
}

// Limits bounds one socket; zero fields take the default.
type Limits struct {
	FrameBytes    int           // of an incoming frame: 16 MiB
	Depth         int           // of its JSON: 128
	Subscriptions int           // 1024
	Beside        int           // concurrent requests: 16
	SnapshotBytes int           // most bytes that a snapshot takes from Config.Answers: 320 MiB
	AnswerBytes   int           // unread answers: 32 MiB
	Frame         time.Duration // arrival of a frame over 64 KiB: 2 min
	Handshake     time.Duration // until initialize or reconnect: 30 s
	Write         time.Duration // writing a piece of 64 KiB: 30 s
	Ping          time.Duration // between keep-alive pings: 30 s
	Close         time.Duration // closing handshake: 2 s
	Ask           time.Duration // a client's answer to a request of the host: 10 s
}

func (l Limits) withDefaults() Limits {
	l.FrameBytes = cmp.Or(l.FrameBytes, 16<<20)
	l.Depth = cmp.Or(l.Depth, 128)
	l.Subscriptions = cmp.Or(l.Subscriptions, 1024)
	l.Beside = cmp.Or(l.Beside, 16)
	l.SnapshotBytes = cmp.Or(l.SnapshotBytes, 320<<20)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, 32<<20)
	l.Frame = cmp.Or(l.Frame, 2*time.Minute)
	l.Handshake = cmp.Or(l.Handshake, 30*time.Second)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Ping = cmp.Or(l.Ping, 30*time.Second)
	l.Close = cmp.Or(l.Close, 2*time.Second)
	l.Ask = cmp.Or(l.Ask, 10*time.Second)
	return l
}

// Endpoint serves AHP. It owns its sockets: Close ends them and waits.
type Endpoint struct {
	cfg       Config
	clients   *clients
	providers *providers

	mu      sync.Mutex
	closed  bool
	sockets map[*socket]struct{}
	wg      sync.WaitGroup
}

// New returns the endpoint. The caller authenticates requests first and puts the principal into the
// request's context (access.WithPrincipal). The socket ends with that context, for example when a
// link is revoked.
func New(cfg Config) *Endpoint {
	cfg.Limits = cfg.Limits.withDefaults()
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	cfg.Tracer = cmp.Or[trace.Tracer](cfg.Tracer, noop.Tracer{})
	if cfg.Count == nil {
		cfg.Count = func(string, string) {}
	}
	if cfg.AwaitNodes == nil {
		cfg.AwaitNodes = func(context.Context) {}
	}
	e := &Endpoint{cfg: cfg, clients: newClients(cfg),
		providers: &providers{find: cfg.Host.ProviderOf, names: cfg.Host.Providers()}, sockets: map[*socket]struct{}{}}
	e.clients.bindings.evict = e.evict
	return e
}

// evict ends the connection of a client whose id another principal takes, and makes the host forget
// the client.
func (e *Endpoint) evict(principal, clientID string) {
	if s := e.client(principal, clientID); s != nil {
		s.end(errEvicted)
	}
	e.cfg.Host.Evicted(principal, clientID)
}

// ServeHTTP upgrades the request and serves the socket until it ends.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.serve(w, r, nil) }

// serve serves the socket; byProvider, if given, names sessions by their provider.
func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request, byProvider *providers) {
	p := access.FromContext(r.Context())
	if !p.IsKnown() {
		http.Error(w, "sign in, or send a token: Authorization: Bearer …", http.StatusUnauthorized)
		return
	}
	if !e.enter() {
		http.Error(w, errShutdown.Error(), http.StatusServiceUnavailable)
		return
	}
	seat := holderOf(p)
	if err := e.cfg.Sockets.Take(seat, 1); err != nil {
		e.wg.Done()
		http.Error(w, errSockets.Error(), statusOf(err))
		return
	}
	ws, out, err := upgrade.Accept(w, r, e.cfg.Limits.Write, e.acceptOptions(r))
	if err != nil {
		e.wg.Done()
		e.cfg.Sockets.Return(seat, 1)
		return // Accept has answered
	}
	s := newSocket(r.Context(), e, p, ws, out)
	s.names.providers = byProvider
	s.seat = seat
	upgrade.Keep(r.Context(), func() { e.serveSocket(s) })
}

// serveSocket serves a socket until it ends.
func (e *Endpoint) serveSocket(s *socket) {
	defer e.wg.Done()
	defer func() { e.cfg.Sockets.Return(s.seat, 1) }()
	if !e.add(s) {
		s.end(errShutdown)
	}
	defer e.remove(s)
	s.serve()
}

// statusOf distinguishes a caller who can close connections of their own from one who has to wait.
func statusOf(refused error) int {
	if errors.Is(refused, quota.ErrTotal) {
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

// acceptOptions admits a page of another origin only without a cookie: it can use a token it knows,
// but never the authority of a signed-in visitor.
func (e *Endpoint) acceptOptions(r *http.Request) *websocket.AcceptOptions {
	return &websocket.AcceptOptions{
		InsecureSkipVerify: r.Header.Get("Cookie") == "",
		OriginPatterns:     e.cfg.Origins,
		CompressionMode:    websocket.CompressionDisabled, // costs 2–2.5 × the CPU
	}
}

func (e *Endpoint) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.wg.Add(1)
	}
	return !e.closed
}

func (e *Endpoint) add(s *socket) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sockets[s] = struct{}{}
	return !e.closed
}

func (e *Endpoint) remove(s *socket) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sockets, s)
}

// Sockets counts the open sockets.
func (e *Endpoint) Sockets() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sockets)
}

// Close ends every socket, waits for them until ctx ends, and admits no new ones.
func (e *Endpoint) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	for s := range e.sockets {
		go s.end(errShutdown)
	}
	e.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.wg.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
