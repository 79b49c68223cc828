package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// Front serves a handler on a listener.
type Front struct {
	Handler http.Handler
	TLS     *tls.Config // nil: http
	Limits  Limits
	Log     *slog.Logger

	drain func(context.Context) // waits for requests that http.Server does not wait for; nil: there are none
}

// Serve serves l until ctx ends. Then it ends open streams, waits for requests for at most Limits.Stop, and returns.
func (f Front) Serve(ctx context.Context, l net.Listener) error {
	f.Limits.fill()
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errStopping)
	fresh := &freshConns{}
	srv := &http.Server{
		Handler:           f.Handler,
		TLSConfig:         f.TLS,
		ConnState:         fresh.note,
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(base, baseKey{}, base) },
		ReadHeaderTimeout: f.Limits.Read,
		IdleTimeout:       f.Limits.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(f.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		if f.TLS == nil {
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
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.Limits.Stop)
	defer cancel()
	err := srv.Shutdown(grace)
	if f.drain != nil {
		f.drain(grace)
	}
	srv.Close()
	<-failed
	if errors.Is(err, context.DeadlineExceeded) {
		f.Log.Warn("open requests were aborted at shutdown", "after", f.Limits.Stop)
		return nil
	}
	return err
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
