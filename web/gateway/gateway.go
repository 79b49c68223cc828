package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/web"
)

const (
	waitLeader  = 3 * time.Second       // how long a request waits for a leader
	retryEvery  = 50 * time.Millisecond // between attempts while it waits
	answerGrace = time.Second           // how long a former leader may still answer what it was asked
	mostWaiting = 1024                  // requests that wait for a leader
	bodyTime    = 15 * time.Second      // for a form to arrive, as on the server that answers it
	stopTime    = 3 * time.Second
)

var (
	errNoLeader = errors.New("no node of the cluster leads at the moment")
	// ErrNotLeading refuses what only the leader can do.
	ErrNotLeading = errors.New("another node leads")
)

// Config of a Gateway.
type Config struct {
	Name      string // of this node
	Hosts     web.Hosts
	Transport http.RoundTripper // to nodes, by name
	Streams   live.RelayConfig  // its Transport, TrunkPath and Header are set by New
	Assets    *static.Assets    // nil: the leader serves them
	Log       *slog.Logger
	// Before is called before a request is passed on to the leader; nil: no call.
	Before func(*http.Request)
}

// Hub answers requests on the leader.
type Hub struct {
	Server *web.Attached
	Trunks http.Handler // serves the frames of rooms to other nodes
	Ready  func() error
}

// Gateway answers visitors on a node.
type Gateway struct {
	cfg     Config
	proxy   *httputil.ReverseProxy
	relay   *live.Relay
	waiting chan struct{}
	serving context.Context // ends with Serve
	stop    context.CancelFunc

	mu      sync.Mutex
	hub     *Hub            // nil: this node does not lead
	leader  string          // name of the leader; "": none is known
	tenure  context.Context // ends when another node leads, or with serving
	end     context.CancelFunc
	changed chan struct{} // closed at the next change
}

// New returns a Gateway that knows no leader yet.
func New(c Config) *Gateway {
	c.Streams.Transport, c.Streams.TrunkPath, c.Streams.Header = c.Transport, TrunkPath, grantHeader
	g := &Gateway{cfg: c, relay: live.NewRelay(c.Streams), waiting: make(chan struct{}, mostWaiting),
		changed: make(chan struct{})}
	g.serving, g.stop = context.WithCancel(context.Background())
	g.tenure, g.end = context.WithCancel(g.serving)
	g.proxy = &httputil.ReverseProxy{Transport: c.Transport, FlushInterval: -1, Rewrite: rewrite,
		ModifyResponse: checkAnswer, ErrorHandler: g.handleFailure, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug)}
	return g
}

// Attach lets the hub of this node answer.
func (g *Gateway) Attach(h Hub) { g.setHub(&h) }

// Detach reverses Attach.
func (g *Gateway) Detach() { g.setHub(nil) }

func (g *Gateway) setHub(h *Hub) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hub = h
	g.notifyChanged()
}

// SetLeader records which node leads; "" is none. Streams and sockets of the previous leader end.
func (g *Gateway) SetLeader(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if name == g.leader {
		return
	}
	g.leader = name
	g.end()
	g.tenure, g.end = context.WithCancel(g.serving)
	g.notifyChanged()
}

// Leader returns the name of the leader, or "" when none is known.
func (g *Gateway) Leader() string { return g.current().leader }

// notifyChanged wakes waiting requests; mu is held.
func (g *Gateway) notifyChanged() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// state is the leader, and this node's hub if it leads, at one moment.
type state struct {
	hub     *Hub
	leader  string
	tenure  context.Context
	changed <-chan struct{}
}

func (g *Gateway) current() state {
	g.mu.Lock()
	defer g.mu.Unlock()
	return state{g.hub, g.leader, g.tenure, g.changed}
}

// ServeHTTP answers a visitor.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.cfg.Hosts.Check(w, r) {
		return
	}
	switch r.URL.Path {
	case "/healthz":
		_, _ = w.Write([]byte("ok\n"))
		return
	case "/readyz":
		answerProbe(w, g.checkReady())
		return
	case "/leaderz":
		answerProbe(w, g.checkLeading())
		return
	}
	if a := g.cfg.Assets; a != nil && r.Method == http.MethodGet && a.Has(r.URL.Path) {
		g.cfg.Hosts.WithHeaders(w, r) // public, and named by their content: the same on every node
		a.ServeHTTP(w, r)
		return
	}
	g.answer(w, r)
}

func answerProbe(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

// checkLeading returns nil while the hub of this node is ready.
func (g *Gateway) checkLeading() error {
	h := g.current().hub
	if h == nil {
		return ErrNotLeading
	}
	return h.Ready()
}

// checkReady returns nil while this node or the leader can answer visitors.
func (g *Gateway) checkReady() error {
	if err := g.checkLeading(); !errors.Is(err, ErrNotLeading) {
		return err
	}
	if leader := g.Leader(); leader == "" || leader == g.cfg.Name {
		return errNoLeader
	}
	return nil
}

// answer lets the leader answer, and waits for one if there is none.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request) {
	body := &replay{src: r.Body}
	var late <-chan time.Time
	for {
		s := g.current()
		if s.hub != nil {
			again := r.Clone(r.Context())
			body.into(again)
			if s.hub.Server.Serve(w, again) {
				return
			}
		} else if s.leader != "" && s.leader != g.cfg.Name && g.passOn(w, r, s, body) {
			return
		}
		if late == nil {
			select {
			case g.waiting <- struct{}{}:
				defer func() { <-g.waiting }()
			default:
				refuse(w, r, errNoLeader)
				return
			}
			timer := time.NewTimer(waitLeader)
			defer timer.Stop()
			late = timer.C
		}
		if !waitForChange(r.Context(), s.changed, late) {
			refuse(w, r, errNoLeader)
			return
		}
	}
}

// waitForChange waits until it is time to check again. It returns false when the request has timed out or ended.
func waitForChange(ctx context.Context, changed <-chan struct{}, late <-chan time.Time) bool {
	again := time.NewTimer(retryEvery)
	defer again.Stop()
	select {
	case <-changed:
	case <-again.C:
	case <-late:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// Serve answers visitors on a listener until ctx ends, which also ends their streams. Call it once.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, secure *tls.Config) error {
	defer g.stop()
	defer context.AfterFunc(ctx, g.stop)()
	return web.Front{Handler: g, TLS: secure, Log: g.cfg.Log, Limits: web.Limits{Stop: stopTime}}.Serve(ctx, l)
}
