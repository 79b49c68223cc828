package upgrade

import (
	"context"
	"net/http"
	"sync"
)

// request is the state that server and handler share for a request that may become a socket.
type request struct {
	ended func(panicked any)
	loose func() bool // keeps the end of the HTTP request from ending the context

	mu    sync.Mutex
	kept  bool
	over  bool
	after []func()
}

type requestKey struct{}

// Serve calls h with a request whose socket may outlive it (Keep). The context of a kept request ends with server,
// of any other with the request. At the very end, Serve calls ended with the cause of a panic outside of h.
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

// Keep runs serve, which ends with its socket, after the calling handler has returned; functions given to Defer wait
// for that. For a request that did not come through Serve, Keep returns when serve does.
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

// Defer runs f when the request, and the socket it became, has ended. Deferred calls of middleware go through it.
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

// end runs the deferred functions, the last first.
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
