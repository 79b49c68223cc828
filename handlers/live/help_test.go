package live

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sessionURI  = "ahp-session:/1"
	sessionRoom = "session:1"
)

var ana = access.Owner("Ana")

// titleRoom shows a session's title.
type titleRoom struct {
	Redraw
	onWatch func(ping func()) (stop func())
}

func (r *titleRoom) Channels() []ahp.URI { return []ahp.URI{sessionURI} }

func (r *titleRoom) Watch(ping func()) (stop func()) {
	if r.onWatch == nil {
		return func() {}
	}
	return r.onWatch(ping)
}

func element(id, text string) templ.Component {
	return templ.Raw(`<p id="` + id + `">` + text + `</p>`)
}

func drawTitle(s States) []Patch {
	state, _ := s[sessionURI].(*ahp.SessionState)
	return []Patch{Replace("title", element("title", state.Title)), Replace("still", element("still", "the same"))}
}

func openTitle(context.Context, access.Principal, []string) (Room, error) {
	return &titleRoom{Redraw: Redraw{Draw: drawTitle}}, nil
}

// newEngine returns an engine with one kind of room, over a hub with one session.
func newEngine(t *testing.T, cfg Config) *Engine {
	t.Helper()
	cfg.Hub = hub.New(hub.Config{})
	if cfg.Rooms == nil {
		cfg.Rooms = Table{"session": {Open: openTitle}}
	}
	e := New(cfg)
	t.Cleanup(e.Close)
	e.openSession(t, "first")
	return e
}

func (e *Engine) openSession(t *testing.T, title string) {
	t.Helper()
	info := hub.ChannelInfo{URI: sessionURI, Kind: ahp.ChannelSession, Session: sessionURI}
	err := e.cfg.Hub.Do(func(tx *hub.Tx) {
		if err := tx.Open(info, &ahp.SessionState{Title: title}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (e *Engine) setTitle(t *testing.T, title string) {
	t.Helper()
	set := &ahp.SessionTitleChangedAction{Title: title}
	if err := e.cfg.Hub.Do(func(tx *hub.Tx) { tx.Apply(sessionURI, set) }); err != nil {
		t.Fatal(err)
	}
}

// draw opens the room like a page, and returns the title it shows and its mark.
func (e *Engine) draw(t *testing.T, who access.Principal) (title, mark string) {
	t.Helper()
	mark, err := e.Draw(t.Context(), who, sessionRoom, func(_ Room, s States) {
		title = s[sessionURI].(*ahp.SessionState).Title
	})
	if err != nil {
		t.Fatal(err)
	}
	return title, mark
}

// serve offers the stream to who and returns its address.
func serve(t *testing.T, e *Engine, who access.Principal) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, e.ServeStream(w, r.WithContext(access.WithPrincipal(r.Context(), who))))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// serveFunc offers the stream to who and returns its address.
type serveFunc func(t *testing.T, e *Engine, who access.Principal) string

// eachWay runs a test with streams of the hub's own program, and with those of a follower.
func eachWay(t *testing.T, test func(t *testing.T, serve serveFunc)) {
	t.Run("here", func(t *testing.T) { test(t, serve) })
	t.Run("by another node", func(t *testing.T) { test(t, serveFar) })
}

// serveFar offers the stream to who on a follower, and returns its address.
func serveFar(t *testing.T, e *Engine, who access.Principal) string {
	url, _ := startFollower(t, e, who)
	return url
}

// startFollower starts a leader and a follower, which serves streams until cut is called.
func startFollower(t *testing.T, e *Engine, who access.Principal) (url string, cut func()) {
	t.Helper()
	return startFollowerOf(t, startLeader(t, e, who))
}

// startLeader starts a leader of followers whose visitors are all who.
func startLeader(t *testing.T, e *Engine, who access.Principal) *httptest.Server {
	t.Helper()
	leader := newLeader(t, e, who)
	leader.Start()
	return leader
}

// startLeaderInMemory is startLeader without a network, for tests that simulate time. The client reaches the leader.
func startLeaderInMemory(t *testing.T, e *Engine, who access.Principal) (url string, client *http.Client) {
	t.Helper()
	leader, l := newLeader(t, e, who), newMemoryListener()
	_ = leader.Listener.Close()
	leader.Listener = l
	leader.Start()
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(transport.CloseIdleConnections)
	return leader.URL, &http.Client{Transport: transport}
}

func newLeader(t *testing.T, e *Engine, who access.Principal) *httptest.Server {
	t.Helper()
	base, end := context.WithCancel(t.Context())
	var open sync.WaitGroup
	leader := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(access.WithPrincipal(r.Context(), who))
		r = r.WithContext(WithNode(r.Context(), r.Header.Get("Node")))
		h := http.HandlerFunc(e.ServeTrunk)
		if name := r.Header.Get("Grant"); name != "" {
			r = r.WithContext(WithGrant(r.Context(), name))
			h = func(w http.ResponseWriter, r *http.Request) { answer(w, e.ServeStream(w, r)) }
		}
		open.Add(1)
		upgrade.Serve(base, h, w, r, func(any) { open.Done() })
	}))
	t.Cleanup(leader.Close)
	t.Cleanup(func() { end(); open.Wait() })
	return leader
}

// slowAnswers delays the answers about grants until wait returns.
type slowAnswers struct {
	http.RoundTripper
	wait func()
}

func (s slowAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if r.Header.Get("Grant") != "" {
		s.wait()
	}
	return res, err
}

// memoryListener accepts connections made by dial.
type memoryListener struct {
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newMemoryListener() *memoryListener {
	l := &memoryListener{conns: make(chan net.Conn)}
	l.closed, l.close = context.WithCancel(context.Background())
	return l
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- newMemoryConn(there):
		return newMemoryConn(here), nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.close()
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// memoryConn does not wait until the other side reads, unlike a pipe.
type memoryConn struct {
	net.Conn
	written chan []byte
	closed  chan struct{}
	close   func() error
}

func newMemoryConn(pipe net.Conn) *memoryConn {
	c := &memoryConn{Conn: pipe, written: make(chan []byte, 1000), closed: make(chan struct{})}
	c.close = sync.OnceValue(func() error { close(c.closed); return pipe.Close() })
	go func() {
		for {
			select {
			case b := <-c.written:
				_, _ = pipe.Write(b)
			case <-c.closed:
				return
			}
		}
	}()
	return c
}

func (c *memoryConn) Write(b []byte) (int, error) {
	select {
	case c.written <- bytes.Clone(b):
		return len(b), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *memoryConn) Close() error { return c.close() }

// connectNode opens a trunk like a follower, and then neither sends nor reads.
func connectNode(t *testing.T, url string, client *http.Client) (trunk *websocket.Conn, name string) {
	t.Helper()
	trunk, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: client,
		HTTPHeader: http.Header{"Node": {"box2"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = trunk.CloseNow() })
	var hello greeting
	if _, b, err := trunk.Read(t.Context()); err != nil || json.Unmarshal(b, &hello) != nil {
		t.Fatal("no greeting", err)
	}
	return trunk, hello.Trunk
}

// admitVisitor requests a grant like a follower.
func admitVisitor(t *testing.T, url string, client *http.Client, grant, mark string) {
	t.Helper()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/?"+Query(mark), nil)
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Grant", grant)
	res, err := client.Do(ask)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
}

// startFollowerOf starts a follower of a leader, which serves streams until cut is called.
func startFollowerOf(t *testing.T, leader *httptest.Server) (url string, cut func()) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return startFollowerBy(t, leader, transport)
}

// startFollowerBy is startFollowerOf with a transport to the leader.
func startFollowerBy(t *testing.T, leader *httptest.Server, transport http.RoundTripper) (url string, cut func()) {
	t.Helper()
	relay := NewRelay(RelayConfig{Transport: transport, TrunkPath: "/streams", Header: "Grant"})
	tenure, cut := context.WithCancel(t.Context())
	follower := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask := r.Clone(r.Context())
		ask.RequestURI, ask.URL.Scheme, ask.URL.Host = "", "http", leader.Listener.Addr().String()
		res, err := relay.Serve(w, r, ask, ask.URL.Host, tenure)
		if err != nil {
			answer(w, err)
		} else if res != nil {
			w.WriteHeader(res.StatusCode)
			_, _ = io.Copy(w, res.Body)
		}
	}))
	t.Cleanup(func() {
		cut()
		follower.Close()
	})
	return follower.URL, cut
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
	}
}

// refusal returns the answer to a stream with these marks.
func refusal(t *testing.T, url string, marks ...string) string {
	t.Helper()
	res, err := http.Get(url + "/?" + Query(marks...))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	b, _ := io.ReadAll(res.Body)
	return strings.TrimSpace(string(b))
}

// stream is the stream of an open page.
type stream struct {
	t      *testing.T
	ws     *websocket.Conn
	frames []string // of rooms, in order of arrival
}

func dial(t *testing.T, url string, marks ...string) *stream {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	at := strings.Replace(url, "http", "ws", 1) + "/?" + Query(marks...)
	ws, _, err := websocket.Dial(t.Context(), at, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &stream{t: t, ws: ws}
}

// until reads frames until one contains a text, and returns it.
func (s *stream) until(text string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	for {
		_, b, err := s.ws.Read(ctx)
		if err != nil {
			s.t.Fatalf("no frame had %q: %v; there were %q", text, err, s.frames)
		}
		if string(b) == string(heartbeatFrame) {
			continue
		}
		s.frames = append(s.frames, string(b))
		if strings.Contains(string(b), text) {
			return string(b)
		}
	}
}

// markIn returns the mark in a frame that replaces all of a room.
func markIn(t *testing.T, frame string) string {
	t.Helper()
	var parts []any
	if err := json.Unmarshal([]byte(frame), &parts); err != nil || len(parts) != 4 {
		t.Fatalf("a frame that replaces all of a room is %s", frame)
	}
	return parts[3].(string)
}
