package upgrade

import (
	"context"
	"net/http"
	"sync"
)

// request is what a server and a handler share of a request that may become a socket.
type request struct {
	ended func(panicked any)
	loose func() bool // keeps the end of the HTTP request from ending the context

	mu    sync.Mutex
	kept  bool
	over  bool
	after []func()
}

type requestKey struct{}

// Serve calls h with a request whose socket may outlive it (Keep). The context of a kept request ends with server, that
// of any other with the request. ended is called when all is over, with the cause of a panic outside of h.
func Serve(server context.Context, h http.Handler, w http.ResponseWriter, r *http.Request, ended func(panicked any)) {
	parent := r.Context()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(server, func() { cancel(context.Cause(server)) })
	q := &request{ended: ended, loose: context.AfterFunc(parent, func() { cancel(context.Cause(parent)) })}
	q.after = []func(){func() { stop(); q.loose(); cancel(context.Canceled) }}
	defer q.returned()
	h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, requestKey{}, q)))
}

// returned ends a request that its handler did not keep.
func (q *request) returned() {
	q.mu.Lock()
	kept := q.kept
	q.mu.Unlock()
	if !kept {
		q.end(nil)
	}
}

// Keep runs serve, which ends with its socket, after the handler that calls it has returned: what Defer is given waits
// for that. Where the request did not come through Serve, Keep returns when serve does.
func Keep(ctx context.Context, serve func()) {
	q, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		serve()
		return
	}
	q.mu.Lock()
	q.kept = true
	q.mu.Unlock()
	q.loose()
	go func() {
		defer func() { q.end(recover()) }()
		serve()
	}()
}

// Defer runs f when the request has ended, and a socket that it became: deferred calls of middleware go through it.
func Defer(ctx context.Context, f func()) {
	q, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		f()
		return
	}
	q.mu.Lock()
	later := q.kept && !q.over
	if later {
		q.after = append(q.after, f)
	}
	q.mu.Unlock()
	if !later {
		f()
	}
}

// end runs what was deferred, the last first.
func (q *request) end(panicked any) {
	q.mu.Lock()
	after := q.after
	q.after, q.over = nil, true
	q.mu.Unlock()
	for i := len(after) - 1; i >= 0; i-- {
		after[i]()
	}
	q.ended(panicked)
}
