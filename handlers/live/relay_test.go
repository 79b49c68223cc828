package live

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
)

// links keeps nothing.
type links struct{}

func (links) Each(context.Context, string, func(string, []byte) error) error { return nil }

func (links) Put(context.Context, string, string, []byte) error { return nil }

func (links) Delete(context.Context, string, string) error { return nil }

// linkedGuest returns a guest and the links that let them in.
func linkedGuest(t *testing.T) (*access.Links, access.Principal) {
	t.Helper()
	l, err := access.OpenLinks(t.Context(), links{})
	if err != nil {
		t.Fatal(err)
	}
	_, made, err := l.New(t.Context(), access.Link{Session: sessionURI, Role: access.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	return l, access.Principal{ID: "guest", Role: access.RoleOwner, Link: made.ID}
}

// checkStreamsEnded checks that every node has confirmed the end of the streams that it had to end.
func (e *Engine) checkStreamsEnded(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.trunks) == 0 {
		t.Error("no node is connected")
	}
	for _, trunk := range e.trunks {
		if confirmed := trunk.endStreams(); confirmed != nil {
			t.Error("a node has not ended a stream yet")
		}
	}
}

// The frames of a room go to another node once, however many visitors watch it there.
func TestFramesGoToANodeOnce(t *testing.T) {
	e := newEngine(t, Config{})
	url, _ := startFollower(t, e, ana)
	_, mark := e.draw(t, ana)
	var streams []*stream
	for range 5 {
		streams = append(streams, dial(t, url, mark))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.trunks) != 1 {
		t.Fatalf("there are %d connections", len(e.trunks))
	}
	for _, trunk := range e.trunks {
		trunk.mu.Lock()
		defer trunk.mu.Unlock()
		if len(trunk.rooms) != 1 || len(trunk.grants) != len(streams) {
			t.Errorf("%d rooms for %d visitors", len(trunk.rooms), len(trunk.grants))
		}
	}
}

// A guest whose link is revoked loses the stream of another node, too, and sees no later changes.
func TestRevokedGuestLosesTheStreamOfAnotherNode(t *testing.T) {
	l, guest := linkedGuest(t)
	e := newEngine(t, Config{Links: l})
	_, mark := e.draw(t, ana)
	url, _ := startFollower(t, e, guest)
	s := dial(t, url, mark)
	e.setTitle(t, "before")
	s.until("before")
	if err := l.Revoke(t.Context(), guest.Link); err != nil {
		t.Fatal(err)
	}
	e.AwaitNodes(t.Context())
	e.checkStreamsEnded(t)
	if code := s.closed(); code != codeRevoked {
		t.Errorf("the stream is closed with %d", code)
	}
	if got := refusalOfStream(t, url, mark); got != codeRevoked {
		t.Errorf("a stream after that is closed with %d", got)
	}
}

// No node shows a deleted session once its deletion is answered. When it is restored, it is live again.
func TestStreamsOfADeletedSessionEnd(t *testing.T) {
	eachWay(t, func(t *testing.T, serve serveFunc) {
		e := newEngine(t, Config{})
		url := serve(t, e, ana)
		_, mark := e.draw(t, ana)
		s := dial(t, url, mark)
		e.setTitle(t, "before")
		s.until("before")
		if err := e.cfg.Hub.Do(func(tx *hub.Tx) { tx.Close(sessionURI) }); err != nil {
			t.Fatal(err)
		}
		e.AwaitNodes(t.Context())
		if strings.Contains(t.Name(), "another node") {
			e.checkStreamsEnded(t)
		}
		if code := s.closed(); code != codeDeleted {
			t.Errorf("the stream is closed with %d", code)
		}
		if got := refusal(t, url, mark); !strings.Contains(got, ErrGone.Error()) {
			t.Errorf("a stream after that is answered %q", got)
		}
		e.openSession(t, "restored")
		_, mark = e.draw(t, ana)
		again := dial(t, url, mark)
		e.setTitle(t, "after")
		again.until("after")
	})
}

// A revocation waits for a node that does not confirm it, until the node must have ended its streams.
func TestRevocationWaitsForSilentNode(t *testing.T) {
	l, guest := linkedGuest(t)
	e := newEngine(t, Config{Links: l})
	_, mark := e.draw(t, ana)
	leader := startLeader(t, e, guest)
	_, name := connectNode(t, leader.URL, http.DefaultClient)
	admitVisitor(t, leader.URL, http.DefaultClient, name+".1", mark)
	began := time.Now()
	e.AwaitNodes(t.Context())
	if took := time.Since(began); took > trunkSilence/2 {
		t.Errorf("it waits for %v when no visitor has lost a right", took)
	}
	if err := l.Revoke(t.Context(), guest.Link); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	e.AwaitNodes(t.Context())
	if took := time.Since(began); took < trunkSilence || took > 2*trunkSilence {
		t.Errorf("it waits for %v", took)
	}
}

// refusalOfStream returns the code that a new stream is closed with.
func refusalOfStream(t *testing.T, url, mark string) websocket.StatusCode {
	t.Helper()
	return dial(t, url, mark).closed()
}

// closed reads until the stream is closed, and returns the code.
func (s *stream) closed() websocket.StatusCode {
	s.t.Helper()
	for {
		_, b, err := s.ws.Read(s.t.Context())
		if err != nil {
			return websocket.CloseStatus(err)
		}
		s.frames = append(s.frames, string(b))
	}
}

// When the connection between the nodes is lost, its streams end, and pages continue over the next one.
func TestStreamsGoOnOverTheNextConnection(t *testing.T) {
	e := newEngine(t, Config{})
	_, mark := e.draw(t, ana)
	url, cut := startFollower(t, e, ana)
	s := dial(t, url, mark)
	e.setTitle(t, "one")
	s.until("one")
	cut()
	s.closed()
	e.setTitle(t, "two")
	url, _ = startFollower(t, e, ana)
	again := dial(t, url, mark)
	again.until("two")
	if len(again.frames) != 2 || again.frames[0] != s.frames[0] {
		t.Errorf("the next stream begins with %q, after %q", again.frames, s.frames)
	}
}

// Streams of a follower end when the leader falls silent, as when it is cut off.
func TestStreamsEndWhenTheLeaderIsSilent(t *testing.T) {
	silent := make(chan struct{})
	defer close(silent)
	leader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Grant") != "" {
			_, _ = w.Write([]byte(`{"rooms":[{"id":1,"epoch":"e","start":0}]}`))
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		_ = writeJSON(r.Context(), c, greeting{"t"})
		<-silent
	}))
	defer leader.Close()
	url, _ := startFollowerOf(t, leader)
	s := dial(t, url, "session:1~e~0")
	began := time.Now()
	s.closed()
	if took := time.Since(began); took > 2*trunkSilence {
		t.Errorf("they end after %v", took)
	}
}

// A room that ends ends its streams.
func TestStreamsOfARoomThatEndedEnd(t *testing.T) {
	e := newEngine(t, Config{})
	_, mark := e.draw(t, ana)
	url, _ := startFollower(t, e, ana)
	s := dial(t, url, mark)
	e.setTitle(t, "here")
	s.until("here")
	e.Close()
	s.closed()
}

// Pages that are too far behind, or from another run of the program, are sent the whole room. It is rendered once.
func TestPagesThatFellBehindAreSentTheRoomAnew(t *testing.T) {
	e := newEngine(t, Config{})
	_, mark := e.draw(t, ana)
	url, _ := startFollower(t, e, ana)
	first := dial(t, url, mark)
	const updates = 8
	for i := range updates {
		e.setTitle(t, fmt.Sprintf("%d title %d.", make([]int, keptBytes/2/(updates-2)), i))
		first.until(fmt.Sprintf("title %d.", i))
	}
	m, _ := parseMark(mark)
	earlier := m
	earlier.epoch = "0badc0de.1"
	for _, at := range []string{mark, mark, earlier.String()} {
		s := dial(t, url, at)
		now := markIn(t, s.until(fmt.Sprintf("title %d.", updates-1)))
		if len(s.frames) != 1 {
			t.Errorf("a page that is behind is sent %d frames", len(s.frames))
		}
		if n, _ := parseMark(now); n.n != m.n+updates {
			t.Errorf("it continues at %s", now)
		}
	}
	if got := e.Renders(); got != updates+1 {
		t.Errorf("%d drawings for %d updates and three pages that are behind", got, updates)
	}
	e.setTitle(t, "at last")
	first.until("at last")
}

// The leader learns that a page is gone, or that its node is.
func TestVisitorOfAnotherNodeThatGoesIsGone(t *testing.T) {
	v := notedVisitor{make(chan string, 10)}
	e := newEngine(t, Config{Visit: func(*http.Request, access.Principal) Visitor { return v }})
	_, mark := e.draw(t, ana)
	url, cut := startFollower(t, e, ana)
	s, other := dial(t, url, mark), dial(t, url, mark)
	_ = s.ws.CloseNow()
	if got := <-v.events; got != "ends" {
		t.Errorf("the visitor of a page that was closed %s", got)
	}
	cut()
	other.closed()
	if got := <-v.events; got != "ends" {
		t.Errorf("the visitor of a node that is cut off %s", got)
	}
}

func TestMirror(t *testing.T) {
	var requested []uint64
	m := newMirror(7, 3, func(room uint64) { requested = append(requested, room) })
	m.epoch = "e"
	take := func(n int64, text string, whole bool) bool { return m.addFrame(frame{[]byte(text), n, whole}) }
	at := func(epoch string, n int64) string {
		f, err := m.frameAfter(epoch, n)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s %d", f.bytes, f.n)
	}
	for _, step := range []struct {
		do   func() bool
		want map[int64]string // after a number
	}{
		{func() bool { return true }, map[int64]string{3: " 3", 9: " 9"}},
		{func() bool { return take(4, "four", false) }, map[int64]string{3: "four 4", 4: " 4"}},
		{func() bool { return !take(6, "six", false) }, map[int64]string{4: " 4"}}, // one is missing
		{func() bool { return take(4, "all4", true) }, map[int64]string{3: "four 4", 2: "all4 4"}},
		{func() bool { return take(5, "five", false) }, map[int64]string{4: "five 5", 2: "all4 4"}},
		{func() bool { return take(9, "all9", true) }, map[int64]string{4: "all9 9", 5: "all9 9", 9: " 9"}},
		{func() bool { return take(10, "ten", false) }, map[int64]string{4: "all9 9", 9: "ten 10"}},
	} {
		if !step.do() {
			t.Fatal("a step is not taken as it should be")
		}
		for n, want := range step.want {
			if got := at("e", n); got != want {
				t.Errorf("after %d comes %q, want %q", n, got, want)
			}
		}
	}
	if len(requested) != 0 {
		t.Errorf("the rooms %d were requested", requested)
	}
	for i := range int64(keptFrames) {
		take(11+i, "more", false)
	}
	for range 2 {
		if got := at("other", 10); got != " 10" {
			t.Errorf("a page of another run is sent %q, and the room is not at hand", got)
		}
	}
	if !slices.Equal(requested, []uint64{7}) {
		t.Errorf("the rooms %d were requested, want 7 once", requested)
	}
}

func FuzzTrunkFrame(f *testing.F) {
	f.Add(trunkFrame{1, frame{[]byte(`["a",1,[]]`), 1, false}}.encode())
	f.Add(trunkFrame{1 << 40, frame{nil, 1 << 50, true}}.encode())
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeTrunkFrame(b)
		if err != nil {
			return
		}
		again, err := decodeTrunkFrame(got.encode())
		if err != nil || again.room != got.room || again.frame.n != got.frame.n || again.frame.whole != got.frame.whole ||
			!bytes.Equal(again.frame.bytes, got.frame.bytes) {
			t.Errorf("%x is read as %+v, then as %+v, %v", b, got, again, err)
		}
	})
}
