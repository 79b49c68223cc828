package gateway

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/web"
)

// startFront serves a follower's front, whose nodes are handlers by name.
func startFront(t *testing.T, assets *static.Assets, nodes map[string]http.Handler) (f *Gateway, url string) {
	t.Helper()
	at := map[string]string{}
	for name, h := range nodes {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		at[name] = s.Listener.Addr().String()
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		name, _, _ := net.SplitHostPort(address)
		return (&net.Dialer{}).DialContext(ctx, "tcp", at[name])
	}}
	t.Cleanup(transport.CloseIdleConnections)
	f = New(Config{Name: "self", Hosts: web.NewHosts("127.0.0.1:0", nil, nil), Transport: transport, Assets: assets, Log: slog.New(slog.DiscardHandler)})
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return f, s.URL
}

func absent(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set(absentHeader, "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}

func send(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The leader gets the visitor's address from the visitor's node, whatever headers the visitor sends.
func TestFollowerTellsWhereAVisitorIs(t *testing.T) {
	f, url := startFront(t, nil, map[string]http.Handler{"leader": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{visitorHeader, secureHeader, grantHeader, "X-Forwarded-For"} {
			_, _ = io.WriteString(w, name+"="+strings.Join(r.Header.Values(name), ",")+" ")
		}
		_, _ = io.WriteString(w, r.Host+" "+r.URL.RawQuery)
	})})
	f.SetLeader("leader")
	r := request(t, http.MethodGet, url+"/?a=1;b", "")
	r.Header.Set(visitorHeader, "203.0.113.9:1")
	r.Header.Set(secureHeader, "1")
	r.Header.Set(grantHeader, "a.1")
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	_, got := send(t, r)
	at, rest, _ := strings.Cut(strings.TrimPrefix(got, visitorHeader+"="), " ")
	if host, _, _ := net.SplitHostPort(at); host != "127.0.0.1" {
		t.Errorf("the visitor is at %s: %s", at, got)
	}
	if want := secureHeader + "= " + grantHeader + "= X-Forwarded-For=198.51.100.7 " + strings.TrimPrefix(url, "http://") + " a=1;b"; rest != want {
		t.Errorf("the leader sees %q, want %q", rest, want)
	}
}

// A form is resent, whole, to the next leader if the first one does not lead any more.
func TestFormReachesTheNextLeader(t *testing.T) {
	asked := make(chan struct{}, 100)
	f, url := startFront(t, nil, map[string]http.Handler{
		"old": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 3)
			asked <- struct{}{}
			absent(w, r)
		}),
		"new": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = w.Write(b)
		})})
	f.SetLeader("old")
	go func() {
		<-asked
		f.SetLeader("new") // while the old one answers
	}()
	form := strings.Repeat("text=hello&", 100)
	if status, got := send(t, request(t, http.MethodPost, url+"/form", form)); status != http.StatusOK || got != form {
		t.Errorf("it answers %d with %d bytes, want %d", status, len(got), len(form))
	}
}

// A form that a leader accepted and did not answer is not resent: it may have been applied.
func TestTakenFormIsNotSentAgain(t *testing.T) {
	var taken atomic.Int32
	f, url := startFront(t, nil, map[string]http.Handler{"leader": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		taken.Add(1)
		panic(http.ErrAbortHandler)
	})})
	f.SetLeader("leader")
	status, got := send(t, request(t, http.MethodPost, url+"/form", "text=hello"))
	if status != http.StatusServiceUnavailable || !strings.Contains(got, "lost") || taken.Load() != 1 {
		t.Errorf("it was taken %d times and answers %d: %s", taken.Load(), status, got)
	}
}

// Without a leader, a page waits for a moment, shows that, and reloads. Streams of a replaced leader end.
func TestWithoutALeaderPagesReload(t *testing.T) {
	f, url := startFront(t, nil, map[string]http.Handler{"leader": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})})
	f.SetLeader("leader")
	res, err := http.DefaultClient.Do(request(t, http.MethodGet, url+"/live", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, len("begun"))); err != nil {
		t.Fatal(err)
	}
	f.SetLeader("")
	_, _ = io.Copy(io.Discard, res.Body) // it ends
	if status, _ := send(t, request(t, http.MethodGet, url+"/readyz", "")); status != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", status)
	}
	r := request(t, http.MethodGet, url+"/", "")
	r.Header.Set("Accept", "text/html")
	began := time.Now()
	status, page := send(t, r)
	if status != http.StatusServiceUnavailable || !strings.Contains(page, `http-equiv="refresh"`) {
		t.Errorf("it answers %d: %s", status, page)
	}
	if time.Since(began) < waitLeader/2 {
		t.Error("it did not wait for a leader")
	}
}

// The number of waiting requests is bounded.
func TestWaitingRequestsAreBounded(t *testing.T) {
	f, url := startFront(t, nil, nil)
	for range mostWaiting {
		f.waiting <- struct{}{}
	}
	began := time.Now()
	if status, _ := send(t, request(t, http.MethodGet, url+"/", "")); status != http.StatusServiceUnavailable ||
		time.Since(began) > waitLeader {
		t.Errorf("it answers %d after %v", status, time.Since(began))
	}
}

// A request that another node passed on is refused while this node does not lead; requests of the
// nodes themselves are answered.
func TestNodeHandlerRefusesWhileNotLeading(t *testing.T) {
	f, _ := startFront(t, nil, nil)
	own := false
	h := f.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { own = true }))
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set(visitorHeader, "203.0.113.9:1")
	h.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get(absentHeader) == "" || own {
		t.Errorf("it answers %d %v", w.Code, w.Header())
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/stats", nil))
	if !own {
		t.Error("what nodes ask themselves is not answered")
	}
}

// A follower serves content-hashed files without the leader, with the headers of every answer. Files
// of another release come from the leader.
func TestFollowerServesAssets(t *testing.T) {
	assets, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	f, url := startFront(t, assets, map[string]http.Handler{"leader": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the leader has "+r.URL.Path)
	})})
	style := assets.Path("css/base.css")
	res, err := http.DefaultClient.Do(request(t, http.MethodGet, url+style, "")) // no node leads
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK || string(body) != string(assets.Content("css/base.css")) {
		t.Errorf("it answers %d with %d bytes", res.StatusCode, len(body))
	}
	for name, want := range map[string]string{"Content-Type": "text/css; charset=utf-8", "Cross-Origin-Resource-Policy": "same-origin",
		"X-Frame-Options": "DENY", "Cache-Control": "public, max-age=31536000, immutable"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("it has no policy")
	}
	f.SetLeader("leader")
	for _, path := range []string{"/assets/000000000000/css/base.css", style + "/", "/assets/", "/assets//css/base.css", "//assets" +
		strings.TrimPrefix(style, "/assets"), "/"} {
		if status, got := send(t, request(t, http.MethodGet, url+path, "")); status != http.StatusOK || got != "the leader has "+path {
			t.Errorf("%s: %d %.80q", path, status, got)
		}
	}
	if _, got := send(t, request(t, http.MethodPost, url+style, "")); got != "the leader has "+style {
		t.Errorf("a form there: %.80q", got)
	}
	r := request(t, http.MethodGet, url+style, "")
	r.Host = "rebound.example"
	if status, _ := send(t, r); status != http.StatusForbidden {
		t.Errorf("another host name: %d", status)
	}
}

// serveFollower starts a follower on a port of its own. stop ends it and waits for that.
func serveFollower(t *testing.T, leader http.HandlerFunc) (g *Gateway, address string, stop func()) {
	t.Helper()
	leads := httptest.NewServer(leader)
	t.Cleanup(leads.Close)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", leads.Listener.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	g = New(Config{Name: "self", Hosts: web.NewHosts("127.0.0.1:0", nil, nil), Transport: transport,
		Log: slog.New(slog.DiscardHandler)})
	g.SetLeader("leader")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, l, nil) }()
	stop = sync.OnceFunc(func() {
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return g, l.Addr().String(), stop
}

// Streams end when the node stops serving, so that pages connect to another node at once.
func TestStreamsEndWithServe(t *testing.T) {
	_, address, stop := serveFollower(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != TrunkPath {
			_, _ = io.WriteString(w, `{"rooms": [{"id": 1, "epoch": "e"}]}`)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err == nil {
			err = c.Write(r.Context(), websocket.MessageText, []byte(`{"trunk": "t"}`))
		}
		heartbeat := time.NewTicker(100 * time.Millisecond)
		defer heartbeat.Stop()
		for err == nil {
			<-heartbeat.C
			err = c.Write(r.Context(), websocket.MessageText, []byte(`{}`))
		}
	})
	page, _, err := websocket.Dial(t.Context(), "ws://"+address+"/live?f=room~e~0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer page.CloseNow()
	stop()
	late, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for err == nil {
		_, _, err = page.Read(late)
	}
	if late.Err() != nil {
		t.Error("the stream continues")
	}
}

// A request that the leader handles while this node stops is answered: the visitor would not know
// whether it was done.
func TestRequestsOutlastStop(t *testing.T) {
	taken, finish := make(chan struct{}), make(chan struct{})
	g, address, stop := serveFollower(t, func(w http.ResponseWriter, _ *http.Request) {
		close(taken)
		<-finish
		_, _ = io.WriteString(w, "done")
	})
	go func() {
		<-taken
		go stop()
		<-g.serving.Done()
		time.AfterFunc(100*time.Millisecond, func() { close(finish) })
	}()
	status, body := send(t, request(t, http.MethodPost, "http://"+address+"/form", "text"))
	if status != http.StatusOK || body != "done" {
		t.Errorf("the request was answered with %d %q", status, body)
	}
}
