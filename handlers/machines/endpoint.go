// Package machines serves the connections of machines: computers that run sessions of this hub.
//
// Anyone may open the WebSocket. The machine authenticates inside it (hub/machine/join), within a time
// limit. The number of unauthenticated connections is limited.
package machines

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/quota"
)

const (
	pingEvery = 20 * time.Second
	writing   = 30 * time.Second // a piece of 64 KiB
	strangers = 64               // connections that have not authenticated yet
	fromOne   = 8                // unauthenticated connections from one address
)

// Config configures the endpoint.
type Config struct {
	Registry *machines.Registry
	Audit    *audit.Log // nil: nothing is recorded
	Log      *slog.Logger
	Version  string // of ahphub

	// Name returns the name of a principal.
	Name func(id string) string
	// Serve uses the connection of a machine until it ends. The endpoint then closes it and sends
	// the machine the reason.
	Serve func(ctx context.Context, peer *join.Peer, incarnation uint64)
}

// Endpoint serves machines. It owns their connections: Close ends them and waits.
type Endpoint struct {
	cfg       Config
	hub       *join.Hub
	strangers *quota.Pool

	ctx  context.Context // ends with the endpoint
	stop context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

var errStopping = errors.New("the hub is stopping")

// New returns an endpoint for a registry.
func New(cfg Config) (*Endpoint, error) {
	e := &Endpoint{cfg: cfg, strangers: quota.New(quota.Limits{Total: strangers, Account: fromOne})}
	e.ctx, e.stop = context.WithCancelCause(context.Background())
	var err error
	e.hub, err = join.NewHub(cfg.Registry, cfg.Version, e.redeem)
	return e, err
}

// redeem exchanges a token for a machine, and audits it.
func (e *Endpoint) redeem(ctx context.Context, secret [machines.SecretBytes]byte, name string,
	key ed25519.PublicKey) (machines.Machine, error) {
	what := "added a machine"
	if machines.CheckName(name) == nil {
		what += ": " + name
	}
	ctx, call, err := e.cfg.Audit.Begin(ctx, audit.Inside, audit.Entry{What: what})
	if err != nil {
		return machines.Machine{}, err
	}
	m, err := e.cfg.Registry.Redeem(ctx, secret, name, key)
	if err == nil {
		call.IsFor(access.Principal{ID: m.By, Name: e.cfg.Name(m.By)})
	} else {
		err = audit.Refusal(err)
	}
	call.Done(ctx, err)
	return m, err
}

// ServeHTTP upgrades a request, and serves the machine until it disconnects or is removed.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seat := quota.Holder{ID: middleware.GetClientIP(r.Context())}
	if err := e.strangers.Take(seat, 1); err != nil {
		http.Error(w, "too many machines are about to connect. Try again in a moment", http.StatusServiceUnavailable)
		return
	}
	if !e.enter() {
		e.strangers.Return(seat, 1)
		http.Error(w, errStopping.Error(), http.StatusServiceUnavailable)
		return
	}
	ws, _, err := upgrade.Accept(w, r, writing, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		e.strangers.Return(seat, 1)
		e.wg.Done()
		return // Accept has answered
	}
	upgrade.Keep(r.Context(), func() {
		defer e.wg.Done()
		defer ws.CloseNow()
		peer, err := e.greet(r.Context(), ws)
		e.strangers.Return(seat, 1)
		if err != nil {
			e.cfg.Log.Info("a computer was not let in as a machine", "from", seat.ID, "err", err)
			return
		}
		e.serve(r.Context(), ws, peer)
	})
}

func (e *Endpoint) greet(ctx context.Context, ws *websocket.Conn) (*join.Peer, error) {
	return e.hub.Accept(ctx, websocket.NetConn(e.ctx, ws, websocket.MessageBinary))
}

// serve keeps a machine connected.
func (e *Endpoint) serve(ctx context.Context, ws *websocket.Conn, peer *join.Peer) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(e.ctx, func() { end(context.Cause(e.ctx)) })()
	ctx, incarnation, leave, err := e.cfg.Registry.Connect(ctx, peer.Machine.ID, peer.Report)
	if err != nil {
		return // revoked in the meantime
	}
	defer leave()
	defer context.AfterFunc(ctx, func() { throwOut(ws, context.Cause(ctx)) })()
	log := e.cfg.Log.With("machine", peer.Machine.Name)
	log.Info("a machine has connected", "version", peer.Report.Clean().Version)
	go func() {
		for ctx.Err() == nil {
			if err := ping(ctx, ws); err != nil {
				end(err)
			}
		}
	}()
	peer.Conn = e.cfg.Registry.Meter(peer.Machine.ID, peer.Conn)
	e.cfg.Serve(context.WithoutCancel(ctx), peer, incarnation)
	end(errors.New("the connection was lost"))
	log.Info("a machine has gone", "reason", context.Cause(ctx))
}

// parting is how long a removed machine may take to disconnect.
const parting = time.Second

// throwOut ends a connection, and sends the machine the reason if reconnecting is pointless.
func throwOut(ws *websocket.Conn, cause error) {
	defer time.AfterFunc(parting, func() { ws.CloseNow() }).Stop()
	if errors.Is(cause, machines.ErrRevoked) || errors.Is(cause, machines.ErrReplaced) {
		ws.Close(websocket.StatusPolicyViolation, cause.Error())
		return
	}
	ws.Close(websocket.StatusGoingAway, "")
}

// ping waits for the interval, then checks the connection.
func ping(ctx context.Context, ws *websocket.Conn) error {
	select {
	case <-time.After(pingEvery):
	case <-ctx.Done():
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingEvery)
	defer cancel()
	return ws.Ping(ctx)
}

func (e *Endpoint) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.wg.Add(1)
	}
	return !e.closed
}

// Close ends the connections and waits for them until ctx ends.
func (e *Endpoint) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop(errStopping)
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
