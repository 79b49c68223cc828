package live

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/quota"
)

func TestOneRenderForAllStreams(t *testing.T) {
	eachWay(t, func(t *testing.T, serve serveFunc) {
		e := newEngine(t, Config{})
		url := serve(t, e, ana)
		streams := make([]*stream, 10)
		for i := range streams {
			_, mark := e.draw(t, ana)
			streams[i] = dial(t, url, mark)
		}
		const updates = 8
		for i := range updates {
			e.setTitle(t, fmt.Sprintf("title %d.", i))
			for _, s := range streams {
				s.until(fmt.Sprintf("title %d.", i))
			}
		}
		if e.Renders() != updates {
			t.Errorf("%d updates for ten streams were drawn %d times", updates, e.Renders())
		}
		for _, s := range streams {
			if !slices.Equal(s.frames, streams[0].frames) || len(s.frames) != updates {
				t.Errorf("a stream was sent %q, another %q", s.frames, streams[0].frames)
			}
		}
	})
}

func TestStreamContinuesAtItsMark(t *testing.T) {
	eachWay(t, func(t *testing.T, serve serveFunc) {
		e := newEngine(t, Config{})
		url := serve(t, e, ana)
		_, mark := e.draw(t, ana)
		e.setTitle(t, "between")
		if title, _ := e.draw(t, ana); title != "between" {
			t.Fatal("a page shows", title)
		}
		s := dial(t, url, mark)
		if f := s.until("between"); strings.Contains(f, "the same") || len(s.frames) != 1 {
			t.Errorf("a stream one update behind is sent %q", s.frames)
		}
	})
}

func TestStreamOfEarlierRunRestarts(t *testing.T) {
	eachWay(t, func(t *testing.T, serve serveFunc) {
		e := newEngine(t, Config{})
		url := serve(t, e, ana)
		_, mark := e.draw(t, ana)
		m, _ := parseMark(mark)
		m.epoch = "0badc0de.1"
		s := dial(t, url, m.String())
		if got := markIn(t, s.until("the same")); got != mark {
			t.Errorf("it continues at %s, a page is at %s", got, mark)
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	eachWay(t, func(t *testing.T, serve serveFunc) {
		e := newEngine(t, Config{Sockets: quota.New(quota.Limits{Account: 1, Total: 2})})
		_, mark := e.draw(t, ana)
		first := dial(t, serve(t, e, ana), mark)
		if got := refusal(t, serve(t, e, ana), mark); !strings.Contains(got, ErrTooManyOpen.Error()) {
			t.Errorf("a second stream: %s", got)
		}
		other := access.Principal{ID: "other", Role: access.RoleOwner}
		dial(t, serve(t, e, other), mark)
		third := access.Principal{ID: "third", Role: access.RoleOwner}
		if got := refusal(t, serve(t, e, third), mark); got != ErrBusy.Error() {
			t.Errorf("a third stream: %s", got)
		}
		e.setTitle(t, "still here")
		first.until("still here")
	})
}

func TestBadMarksAreRefused(t *testing.T) {
	eachWay(t, func(t *testing.T, serve serveFunc) {
		e := newEngine(t, Config{})
		url := serve(t, e, ana)
		_, mark := e.draw(t, ana)
		for want, marks := range map[error][][]string{
			ErrMarks:   {nil, slices.Repeat([]string{mark}, mostMarks+1)},
			ErrBadMark: {{"session:1"}, {"session:1~x~y"}, {"~"}, {"a~b~1~c"}},
			ErrNoRoom:  {{"nothing~x~1"}, {mark, "nothing~x~1"}},
		} {
			for _, m := range marks {
				if got := refusal(t, url, m...); got != want.Error() {
					t.Errorf("%.80q: %s", m, got)
				}
			}
		}
	})
}

// notedVisitor records the events of a page's reader.
type notedVisitor struct{ events chan string }

func (v notedVisitor) Hear(said []byte) error {
	if string(said) == "bad" {
		return ErrBadMark
	}
	v.events <- "says " + string(said)
	return nil
}
func (v notedVisitor) MarkLost() {}
func (v notedVisitor) MarkBack() {}
func (v notedVisitor) End()      { v.events <- "ends" }

func TestVisitorHearsThePage(t *testing.T) {
	eachWay(t, func(t *testing.T, serve serveFunc) {
		v := notedVisitor{make(chan string, 10)}
		e := newEngine(t, Config{Visit: func(*http.Request, access.Principal) Visitor { return v }})
		_, mark := e.draw(t, ana)
		s := dial(t, serve(t, e, ana), mark)
		for _, said := range []string{"here", "there", "bad"} {
			if err := s.ws.Write(t.Context(), websocket.MessageText, []byte(said)); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"says here", "says there"} {
			if got := <-v.events; got != want {
				t.Errorf("the visitor %s, wanted %s", got, want)
			}
		}
		if _, _, err := s.ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("a page that says nonsense is sent %v", err)
		}
		if got := <-v.events; got != "ends" {
			t.Errorf("the visitor of a page that is gone %s", got)
		}
	})
}
