package pages_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const underWay = 256 << 10 // most bytes that were sent and not acknowledged

// watcher is a terminal's frame without a browser.
type watcher struct {
	t      *testing.T
	ws     *websocket.Conn
	text   strings.Builder
	bytes  int
	resets int
}

func (s *testSite) watcher(base, id string) *watcher {
	s.t.Helper()
	ws, _, err := websocket.Dial(context.Background(), strings.Replace(s.url, "http", "ws", 1)+base+"/t/"+id+"/stream",
		&websocket.DialOptions{HTTPClient: s.web})
	if err != nil {
		s.t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = ws.CloseNow() })
	return &watcher{t: s.t, ws: ws}
}

func (v *watcher) send(m any) {
	v.t.Helper()
	b, _ := json.Marshal(m)
	if err := v.ws.Write(context.Background(), websocket.MessageText, b); err != nil {
		v.t.Fatal(err)
	}
}

func (v *watcher) read(ctx context.Context) error {
	kind, b, err := v.ws.Read(ctx)
	if err != nil {
		return err
	}
	if kind == websocket.MessageText {
		if strings.Contains(string(b), `"reset":true`) {
			v.resets++
			v.text.Reset()
		}
		return nil
	}
	v.bytes += len(b)
	v.text.Write(b)
	return nil
}

func (v *watcher) wait(want string) {
	v.t.Helper()
	// rendering a screen under the race detector takes seconds
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !strings.Contains(v.text.String(), want) {
		if err := v.read(ctx); err != nil {
			v.t.Fatalf("the terminal never showed %q: %v\n%q", want, err, tail(v.text.String()))
		}
		v.send(map[string]int{"a": v.bytes})
	}
}

func tail(s string) string { return s[max(0, len(s)-500):] }

func (s *testSite) terminal() (base, id string) {
	s.t.Helper()
	s.t.Setenv("HOME", s.t.TempDir()) // a user's .bashrc may be slow
	base, _ = s.session()
	to := s.post(base+"/t", url.Values{})
	return base, to[strings.LastIndexByte(to, '/')+1:]
}

func TestTypeIntoATerminal(t *testing.T) {
	s := open(t)
	base, id := s.terminal()
	one, two := s.watcher(base, id), s.watcher(base, id)
	one.send(map[string]any{"r": []int{100, 30}})
	one.send(map[string]string{"i": "echo A$((40+2))B; stty size\r"})
	one.wait("A42B")
	one.wait("30 100")
	two.wait("A42B")
	if page := s.until(base+"/t/"+id, "A42B"); !strings.Contains(page, "<noscript>") {
		t.Error("without JavaScript there is no screen")
	}
	s.post(base+"/t/"+id+"/input", url.Values{"line": {"echo C$((1+2))D"}})
	one.wait("C3D")
	s.post(base+"/t/"+id+"/claim", url.Values{"to": {"me"}})
	if page := s.get(base + "/t/" + id); !strings.Contains(page, "Release") {
		t.Error("a terminal that was taken cannot be released")
	}
	if frame := s.get(base + "/t/" + id + "/frame"); !strings.Contains(frame, "data-stream") ||
		!strings.Contains(frame, "vendor/xterm/xterm.js") {
		t.Errorf("the frame has no terminal:\n%s", frame)
	}
	if to := s.post(base+"/t/"+id+"/close", url.Values{}); to != base+"/t" {
		t.Errorf("closing leads to %s", to)
	}
}

// A viewer that reads nothing is sent little and slows down no one; once it reads again, it gets the screen.
func TestSlowViewerIsSkippedAhead(t *testing.T) {
	s := open(t)
	base, id := s.terminal()
	fast, slow := s.watcher(base, id), s.watcher(base, id)
	fast.wait("") // both are connected
	fast.send(map[string]string{"i": "seq 1 80000; echo E$((1+1))E\r"})
	fast.wait("E2E")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	for slow.read(ctx) == nil {
	}
	cancel()
	if slow.bytes > underWay {
		t.Errorf("a watcher that takes nothing was sent %d bytes, at most %d are", slow.bytes, underWay)
	}
	again := s.watcher(base, id)
	again.wait("E2E")
	if again.bytes > underWay+64<<10 {
		t.Errorf("the screen is %d bytes", again.bytes)
	}
}
