package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/web"
)

// Headers between nodes. The Gateway removes them from visitors' requests.
const (
	visitorHeader = "Ahphub-Visitor"        // address of the visitor whose request is passed on
	secureHeader  = "Ahphub-Visitor-Secure" // the request came over TLS
	grantHeader   = "Ahphub-Grant"          // names a grant (live.WithGrant): the follower serves the stream itself
	absentHeader  = "Ahphub-Not-Leading"    // in an answer: this node does not lead and has not read the request
)

// passOn has the leader answer, or serves a live stream that the leader admits. It reports false when
// nothing was done.
func (g *Gateway) passOn(w http.ResponseWriter, r *http.Request, s state, body *replay) bool {
	if r.URL.Path == "/live" && r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return g.serveStream(w, r, s, body)
	}
	return g.pass(w, r, s, body)
}

// serveStream serves a live stream. The leader sends its frames once for all viewers of this node.
func (g *Gateway) serveStream(w http.ResponseWriter, r *http.Request, s state, body *replay) bool {
	ask := &httputil.ProxyRequest{In: r.Clone(r.Context()), Out: r.Clone(r.Context())}
	ask.In.URL.Host, ask.Out.RequestURI, ask.Out.Body = s.leader, "", nil
	rewrite(ask)
	var res *http.Response
	var err error
	upgrade.Serve(s.tenure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err = g.relay.Serve(w, r, ask.Out, s.leader, s.tenure)
	}), w, r, func(panicked any) {
		if panicked != nil {
			g.cfg.Log.Error("a stream panicked", "cause", fmt.Sprint(panicked), "stack", string(debug.Stack()))
		}
	})
	switch {
	case errors.Is(err, live.ErrNoTrunk):
		return g.pass(w, r, s, body)
	case err != nil:
		g.cfg.Log.Debug("the leader did not let a stream in", "err", err)
		return false
	case res == nil:
		return true
	case res.Header.Get(absentHeader) != "":
		return false
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body) // in memory
	return true
}

// attempt is one try to pass a request to the leader.
type attempt struct {
	sent, answered atomic.Bool

	body  *replay
	again bool // the leader has not read the request, so it can be sent again
}

type attemptKey struct{}

// cancelAfterGrace cancels an attempt when another node leads. A leader that has the request
// already may still answer.
func (a *attempt) cancelAfterGrace(ctx context.Context, cancel func()) {
	if !a.answered.Load() {
		pause(ctx, answerGrace)
	}
	cancel()
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// pass passes a request to the leader. It returns false when that node does not lead or cannot be
// reached, and nothing was sent to the visitor.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, s state, body *replay) bool {
	if g.cfg.Before != nil {
		g.cfg.Before(r)
	}
	try := &attempt{body: body}
	ctx, cancel := outlastStop(r)
	defer cancel()
	ctx = context.WithValue(ctx, attemptKey{}, try)
	defer context.AfterFunc(s.tenure, func() {
		if g.serving.Err() == nil {
			try.cancelAfterGrace(ctx, cancel)
		}
	})()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { try.sent.Store(true) }})
	passed := r.Clone(ctx)
	passed.URL.Host = s.leader // read by rewrite
	body.into(passed)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	}
	g.proxy.ServeHTTP(w, passed)
	return !try.again
}

// outlastStop returns a context that ends with the request. When this node stops, a request that is
// no stream has until stopTime: its visitor would not know whether the leader handled it.
func outlastStop(r *http.Request) (context.Context, context.CancelFunc) {
	if r.Header.Get("Upgrade") != "" {
		return context.WithCancel(r.Context())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	stop := context.AfterFunc(r.Context(), func() {
		defer cancel()
		if web.IsStopping(r.Context()) {
			pause(ctx, stopTime)
		}
	})
	return ctx, func() { stop(); cancel() }
}

// rewrite addresses a visitor's request to the leader, and leaves the rest as the visitor sent it.
func rewrite(pr *httputil.ProxyRequest) {
	pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.URL.RawQuery = "http", pr.In.URL.Host, pr.In.URL.RawQuery
	pr.Out.Host = pr.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := pr.In.Header.Values(name); values != nil {
			pr.Out.Header[name] = values
		}
	}
	pr.Out.Header.Set(visitorHeader, pr.In.RemoteAddr)
	pr.Out.Header.Del(secureHeader)
	pr.Out.Header.Del(grantHeader)
	if pr.In.TLS != nil {
		pr.Out.Header.Set(secureHeader, "1")
	}
}

// checkAnswer refuses the answer of a node that does not lead.
func checkAnswer(r *http.Response) error {
	if r.Header.Get(absentHeader) != "" {
		return ErrNotLeading
	}
	r.Request.Context().Value(attemptKey{}).(*attempt).answered.Store(true)
	return nil
}

var errLost = errors.New("the server lost its leader while it handled this. " +
	"Check whether it was done before you try again")

// handleFailure answers a request that the leader did not answer, or marks it as one that can be sent again.
func (g *Gateway) handleFailure(w http.ResponseWriter, r *http.Request, err error) {
	try := r.Context().Value(attemptKey{}).(*attempt)
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
	untouched := errors.Is(err, ErrNotLeading) || !try.sent.Load() || reads
	if untouched && try.body.canRewind() {
		try.again = true
		return
	}
	g.cfg.Log.Debug("the leader did not answer a request", "err", err)
	refuse(w, r, errLost)
}
