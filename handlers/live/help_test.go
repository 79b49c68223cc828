package live

import (
	"context"
	"encoding/json"
	"io"
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

// draw opens the room as a page does and returns the title it shows and its mark.
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

// eachWay runs a test with streams of the hub's own program, and with those of a node that follows.
func eachWay(t *testing.T, test func(t *testing.T, serve serveFunc)) {
	t.Run("here", func(t *testing.T) { test(t, serve) })
	t.Run("by another node", func(t *testing.T) { test(t, serveFar) })
}

// serveFar offers the stream to who by a node that follows.
func serveFar(t *testing.T, e *Engine, who access.Principal) string {
	url, _ := startFollower(t, e, who)
	return url
}

// startFollower serves as a node that follows, until it is cut off.
func startFollower(t *testing.T, e *Engine, who access.Principal) (url string, cut func()) {
	t.Helper()
	return startFollowerOf(t, startLeader(t, e, who))
}

// startLeader answers nodes that follow.
func startLeader(t *testing.T, e *Engine, who access.Principal) *httptest.Server {
	t.Helper()
	base, end := context.WithCancel(t.Context())
	var open sync.WaitGroup
	leader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(access.WithPrincipal(r.Context(), who))
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

// startFollowerOf serves as a node that follows a leader, until it is cut off.
func startFollowerOf(t *testing.T, leader *httptest.Server) (url string, cut func()) {
	transport := &http.Transport{}
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
		transport.CloseIdleConnections()
	})
	return follower.URL, cut
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
	}
}

// refusal returns what a stream with these marks is answered with.
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

// stream is an open page's.
type stream struct {
	t      *testing.T
	ws     *websocket.Conn
	frames []string // of rooms, as they came
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

// until reads frames until one has a text, and returns it.
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

// markIn returns the mark that a frame which starts anew carries.
func markIn(t *testing.T, frame string) string {
	t.Helper()
	var parts []any
	if err := json.Unmarshal([]byte(frame), &parts); err != nil || len(parts) != 4 {
		t.Fatalf("a frame that starts anew is %s", frame)
	}
	return parts[3].(string)
}
