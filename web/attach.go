package web

import (
	"context"
	"net/http"
	"strings"
	"sync"
)

// Attached answers requests of a listener that outlives its server, such as that of a cluster node.
type Attached struct {
	server *Server
	base   context.Context // of streams and sockets
	end    context.CancelCauseFunc
	late   context.Context // of other requests, which may finish first
	abort  context.CancelCauseFunc

	mu   sync.RWMutex
	over bool
}

// Attach starts to answer requests of another listener.
func (s *Server) Attach() *Attached {
	a := &Attached{server: s}
	a.base, a.end = context.WithCancelCause(context.Background())
	a.late, a.abort = context.WithCancelCause(context.Background())
	return a
}

// Serve answers a request. Once the server is detached, it does nothing and returns false.
func (a *Attached) Serve(w http.ResponseWriter, r *http.Request) bool {
	if !a.enter() {
		return false
	}
	defer a.server.open.Done()
	ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), baseKey{}, a.base))
	defer cancel(context.Canceled)
	ends := a.late
	if isSocket(r) || strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		ends = a.base
	}
	defer context.AfterFunc(ends, func() { cancel(errStopping) })()
	a.server.ServeHTTP(w, r.WithContext(ctx))
	return true
}

// ServeSocket lets h answer a request that is not a visitor's and may become a socket, which ends with the server.
// Once the server is detached, it does nothing and returns false.
func (a *Attached) ServeSocket(w http.ResponseWriter, r *http.Request, h http.Handler) bool {
	if !a.enter() {
		return false
	}
	a.server.serveSocket(a.base, h, w, r)
	return true
}

func (a *Attached) enter() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.over {
		a.server.open.Add(1)
	}
	return !a.over
}

// Detach refuses new requests, ends open streams and sockets, and waits for other requests for at most Limits.Stop.
func (a *Attached) Detach() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.end(errStopping)
	defer a.abort(errStopping)
	grace, cancel := context.WithTimeout(context.Background(), a.server.cfg.Limits.Stop)
	defer cancel()
	a.server.drain(grace)
}
