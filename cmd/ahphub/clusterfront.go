package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/web"
)

const (
	// visitorHeader has the address that a visitor's request came from. Only nodes are asked for it.
	visitorHeader = "Ahphub-Visitor"
	secureHeader  = "Ahphub-Visitor-Secure" // it came over TLS
	// absentHeader marks the answer of a node that does not lead: the request was not looked at.
	absentHeader = "Ahphub-Not-Leading"
	// grantHeader has the name of a grant (live.WithGrant): this node serves the visitor's stream itself.
	grantHeader = "Ahphub-Grant"
	trunkPath   = "/streams" // where nodes answer by live.ServeTrunk

	waitLeader  = 1500 * time.Millisecond // of a request, for a node that leads
	askAgain    = 50 * time.Millisecond   // between looks whether the leader takes requests already
	lastWord    = time.Second             // of a node that led, to answer what it was asked
	mostWaiting = 1024                    // requests
	mostReplay  = 64 << 10                // bytes of a request that can be sent again to the next leader
	bodyTime    = 15 * time.Second        // for a form to arrive, as the server that answers has it
)

// clusterFront answers visitors on a node: by the hub, while the node leads, else by the node that does.
type clusterFront struct {
	name      string // of this node
	hosts     web.Hosts
	transport http.RoundTripper // to nodes, by name
	log       *slog.Logger
	proxy     *httputil.ReverseProxy
	waiting   chan struct{}
	relay     *live.Relay
	before    func(*http.Request) // is called before a request is passed on; nil: nothing is
	assets    *static.Assets      // nil: the node that leads serves them

	mu      sync.Mutex
	app     *web.Attached // nil: this node does not serve
	trunks  http.Handler  // of app
	ready   func() error
	leader  string          // name of the node that leads; "": none that is known
	tenure  context.Context // ends with it
	end     context.CancelFunc
	changed chan struct{} // closed at the next change
}

func newClusterFront(name string, hosts web.Hosts, streams live.RelayConfig, log *slog.Logger) *clusterFront {
	streams.TrunkPath, streams.Header = trunkPath, grantHeader
	f := &clusterFront{name: name, hosts: hosts, transport: streams.Transport, log: log, relay: live.NewRelay(streams),
		waiting: make(chan struct{}, mostWaiting), changed: make(chan struct{})}
	f.tenure, f.end = context.WithCancel(context.Background())
	f.proxy = &httputil.ReverseProxy{Transport: streams.Transport, FlushInterval: -1, Rewrite: rewrite, ModifyResponse: isAnswer,
		ErrorHandler: f.failed, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	return f
}

// attach has the hub of this node answer: visitors by app, nodes that want streams by trunks.
func (f *clusterFront) attach(app *web.Attached, trunks http.Handler, ready func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.app, f.trunks, f.ready = app, trunks, ready
	f.tell()
}

func (f *clusterFront) detach() { f.attach(nil, nil, nil) }

// follow notes which node leads. What is passed on to another one ends.
func (f *clusterFront) follow(leader string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if leader == f.leader {
		return
	}
	f.leader = leader
	f.end()
	f.tenure, f.end = context.WithCancel(context.Background())
	f.tell()
}

// tell wakes those that wait; mu is held.
func (f *clusterFront) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// answerer is who answers now.
type answerer struct {
	app     *web.Attached
	trunks  http.Handler
	leader  string
	tenure  context.Context
	changed <-chan struct{}
}

func (f *clusterFront) now() answerer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return answerer{f.app, f.trunks, f.leader, f.tenure, f.changed}
}

// ServeHTTP answers a visitor.
func (f *clusterFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.hosts.Check(w, r) {
		return
	}
	switch r.URL.Path {
	case "/healthz":
		_, _ = w.Write([]byte("ok\n"))
		return
	case "/readyz":
		answerProbe(w, f.isReady())
		return
	case "/leaderz":
		answerProbe(w, f.leads())
		return
	}
	if f.assets != nil && r.Method == http.MethodGet && f.assets.Has(r.URL.Path) {
		f.hosts.WithHeaders(w, r) // public, and named by their content: any node's are the same
		f.assets.ServeHTTP(w, r)
		return
	}
	f.answer(w, r)
}

func answerProbe(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

var (
	errNoLeader = errors.New("no node of the cluster leads at the moment")
	errFollows  = errors.New("another node leads")
)

// leads returns nil while the hub of this node answers.
func (f *clusterFront) leads() error {
	f.mu.Lock()
	ready := f.ready
	f.mu.Unlock()
	if ready == nil {
		return errFollows
	}
	return ready()
}

// isReady returns nil while visitors of this node are answered, here or by another one.
func (f *clusterFront) isReady() error {
	if err := f.leads(); !errors.Is(err, errFollows) {
		return err
	}
	if p := f.now(); p.leader == "" || p.leader == f.name {
		return errNoLeader
	}
	return nil
}

// answer waits a moment for a node that leads, and has it answer.
func (f *clusterFront) answer(w http.ResponseWriter, r *http.Request) {
	body := &replay{src: r.Body}
	var late <-chan time.Time
	for {
		p := f.now()
		if p.app != nil {
			again := r.Clone(r.Context())
			body.into(again)
			if p.app.Serve(w, again) {
				return
			}
		} else if p.leader != "" && p.leader != f.name && f.handOver(w, r, p, body) {
			return
		}
		if late == nil {
			select {
			case f.waiting <- struct{}{}:
				defer func() { <-f.waiting }()
			default:
				refuseVisitor(w, r, errNoLeader)
				return
			}
			timer := time.NewTimer(waitLeader)
			defer timer.Stop()
			late = timer.C
		}
		if !wait(r.Context(), p.changed, late) {
			refuseVisitor(w, r, errNoLeader)
			return
		}
	}
}

// wait returns when it is time to look again; false: it is late.
func wait(ctx context.Context, changed <-chan struct{}, late <-chan time.Time) bool {
	look := time.NewTimer(askAgain)
	defer look.Stop()
	select {
	case <-changed:
	case <-look.C:
	case <-late:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// handOver has the node that leads answer, or serves a live stream that this node lets in. It reports false when nothing was done.
func (f *clusterFront) handOver(w http.ResponseWriter, r *http.Request, p answerer, body *replay) bool {
	if r.URL.Path != "/live" || r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return f.pass(w, r, p, body)
	}
	ask := &httputil.ProxyRequest{In: r.Clone(r.Context()), Out: r.Clone(r.Context())}
	ask.In.URL.Host, ask.Out.RequestURI, ask.Out.Body = p.leader, "", nil
	rewrite(ask)
	var res *http.Response
	var err error
	upgrade.Serve(p.tenure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err = f.relay.Serve(w, r, ask.Out, p.leader, p.tenure)
	}), w, r, func(panicked any) {
		if panicked != nil {
			f.log.Error("a stream panicked", "cause", fmt.Sprint(panicked), "stack", string(debug.Stack()))
		}
	})
	switch {
	case errors.Is(err, live.ErrNoTrunk):
		return f.pass(w, r, p, body)
	case err != nil:
		f.log.Debug("a stream was not let in by the node that leads", "err", err)
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

// attempt is one try to have another node answer a request.
type attempt struct {
	sent, answered atomic.Bool

	body  *replay
	again bool // the node did not look at the request, which can be sent again
}

type attemptKey struct{}

// leaderChanged ends what the node that led before streams. One that was asked for an answer may still give it.
func (a *attempt) leaderChanged(ctx context.Context, cancel func()) {
	if !a.answered.Load() {
		grace := time.NewTimer(lastWord)
		defer grace.Stop()
		select {
		case <-grace.C:
		case <-ctx.Done():
		}
	}
	cancel()
}

// pass has the node that leads answer. It reports false when that node does not lead or cannot be reached, and nothing
// was done.
func (f *clusterFront) pass(w http.ResponseWriter, r *http.Request, p answerer, body *replay) bool {
	if f.before != nil {
		f.before(r)
	}
	try := &attempt{body: body}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), attemptKey{}, try))
	defer cancel()
	defer context.AfterFunc(p.tenure, func() { try.leaderChanged(ctx, cancel) })()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { try.sent.Store(true) }})
	passed := r.Clone(ctx)
	passed.URL.Host = p.leader // read by rewrite
	body.into(passed)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	}
	f.proxy.ServeHTTP(w, passed)
	return !try.again
}

// rewrite makes a visitor's request one to another node, which reads everything else as it came.
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

// isAnswer refuses the answer of a node that does not lead.
func isAnswer(r *http.Response) error {
	if r.Header.Get(absentHeader) != "" {
		return errFollows
	}
	r.Request.Context().Value(attemptKey{}).(*attempt).answered.Store(true)
	return nil
}

var errLost = errors.New("the node that leads was lost while it handled this. Look whether it was done before you try again")

// failed answers a request that no node answered, or notes that it can be sent again.
func (f *clusterFront) failed(w http.ResponseWriter, r *http.Request, err error) {
	try := r.Context().Value(attemptKey{}).(*attempt)
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
	untouched := errors.Is(err, errFollows) || !try.sent.Load() || reads
	if untouched && try.body.rewind() {
		try.again = true
		return
	}
	f.log.Debug("a request was not answered by the node that leads", "err", err)
	refuseVisitor(w, r, errLost)
}

// refuseVisitor answers that nobody leads. A page reloads by itself.
func refuseVisitor(w http.ResponseWriter, r *http.Request, why error) {
	h := w.Header()
	h.Set("Retry-After", "2")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(w, why.Error(), http.StatusServiceUnavailable)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(noLeaderPage)) // the browser left
}

// noLeaderPage looks like the product's own pages, whose colors it repeats: their style sheets may not be at hand.
const noLeaderPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="2">
<title>Waiting for the cluster · ahphub</title>
<style>
:root{color-scheme:light dark;--text:light-dark(#1b1f24,#e6e8ea);--dim:light-dark(#57606a,#a0a8b0);--line:light-dark(#dcdfe3,#2d3237)}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:14px/1.5 Inter,system-ui,sans-serif;color:var(--text);background:light-dark(#fff,#111315)}
main{max-width:24rem;padding:16px 16px 96px}
h1{margin:12px 0 4px;font-size:20px;font-weight:600}
p{margin:0;color:var(--dim)}
.wait{width:20px;height:20px;border:2px solid var(--line);border-top-color:var(--dim);border-radius:50%}
@media (prefers-reduced-motion:no-preference){.wait{animation:turn 1s linear infinite}}
@keyframes turn{to{rotate:1turn}}
</style>
<main>
<div class="wait"></div>
<h1>Waiting for the cluster</h1>
<p>No server of this cluster can answer right now. Nothing is lost. The page opens automatically as soon as one can.</p>
</main>
</html>
`

// nodeHandler answers what other nodes pass on, and what they ask for themselves.
func (f *clusterFront) nodeHandler(own http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor := r.Header.Get(visitorHeader)
		if visitor == "" {
			own.ServeHTTP(w, r)
			return
		}
		secure, grant := r.Header.Get(secureHeader) != "", r.Header.Get(grantHeader)
		for _, name := range []string{visitorHeader, secureHeader, grantHeader} {
			r.Header.Del(name)
		}
		passed := web.FromNode(r, visitor, secure)
		if grant != "" {
			passed = passed.WithContext(live.WithGrant(passed.Context(), grant))
		}
		if app := f.now().app; app == nil || !app.Serve(w, passed) {
			answerAbsent(w)
		}
	})
}

func answerAbsent(w http.ResponseWriter) {
	w.Header().Set(absentHeader, "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}

// serveTrunk sends a node the frames of the rooms that its visitors watch.
func (f *clusterFront) serveTrunk(w http.ResponseWriter, r *http.Request) {
	if p := f.now(); p.app == nil || !p.app.ServeSocket(w, r, p.trunks) {
		answerAbsent(w)
	}
}

// serve answers visitors on a listener until ctx ends.
func (f *clusterFront) serve(ctx context.Context, l net.Listener, secure *tls.Config) error {
	return web.Front{Handler: f, TLS: secure, Log: f.log, Limits: web.Limits{Stop: 3 * time.Second}}.Serve(ctx, l)
}
