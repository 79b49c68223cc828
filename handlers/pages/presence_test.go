package pages_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/presence"
)

var benHere = access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleViewer, Link: "l"}

// within reports whether a condition holds within ten seconds.
func within(is func() bool) bool {
	tick, late := time.NewTicker(2*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
	return true
}

// soon waits until a condition holds.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !within(is) {
		t.Fatalf("never: %s", what)
	}
}

// visitor opens a page of s.who that reports its reader's position.
func (s *testSite) visitor(base, at, in string) *websocket.Conn {
	s.t.Helper()
	mark := s.tab(base).mark["people:"+strings.TrimPrefix(base, "/s/")]
	q := url.Values{"f": {mark}, "s": {strings.TrimPrefix(base, "/s/")}, "at": {at}, "in": {in}}
	ws, _, err := websocket.Dial(context.Background(), strings.Replace(s.url, "http", "ws", 1)+"/live?"+q.Encode(),
		&websocket.DialOptions{HTTPClient: s.web})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func (s *testSite) uri(base string) ahp.URI {
	uri, _ := s.host.SessionByShort(strings.TrimPrefix(base, "/s/"))
	return uri
}

// here returns the only person of a session.
func (s *testSite) here(base string) presence.Place {
	if all := s.pages.Presence.People(s.uri(base)); len(all) == 1 {
		return all[0].Place
	}
	return presence.Place{Page: "nobody"}
}

func TestPresenceIsShown(t *testing.T) {
	s := open(t)
	s.pages.Presence = presence.New(presence.Config{Linger: time.Millisecond})
	t.Cleanup(s.pages.Presence.Close)
	base, _ := s.session()
	b := s.tab(base)
	at := presence.Place{Page: "changes", Channel: "ahp-changeset:/x/session", Kind: ahp.ChannelChangeset, Href: base +
		"/changes"}
	v := s.pages.Presence.Join(benHere, s.uri(base), at)
	b.wait("presence", "Changes")
	if text := b.text("who-guest:ben"); !strings.Contains(text, "Ben") || !strings.Contains(text, "guest") {
		t.Errorf("a guest is shown as %q", text)
	}
	at.File, at.Path, at.Line, at.Typing = "0123", "main.go", "R12", "comment"
	v.Move(at)
	b.wait("who-guest:ben", "main.go, line 12")
	b.wait("who-guest:ben", "writing a comment")
	if link := b.html("who-guest:ben"); !strings.Contains(link, base+"/changes#f-0123R12") {
		t.Errorf("nothing leads to the line: %s", link)
	}
	late := s.tab(base)
	if text := late.text("who-guest:ben"); !strings.Contains(text, "main.go, line 12") {
		t.Errorf("a page opened later shows %q", text)
	}
	v.End()
	for b.id("who-guest:ben") != nil {
		if err := b.read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if text := b.text("faces"); strings.Contains(text, "Ben") {
		t.Errorf("the faces still show %q", text)
	}
}

func TestAPageSaysWhereItsReaderIs(t *testing.T) {
	s := open(t)
	base, chat := s.session()
	id := strings.TrimPrefix(chat, base+"/c/")
	ws := s.visitor(base, "chat", id)
	soon(t, "the reader is in the chat", func() bool { return s.here(base).Href == base+"/c/"+id })
	say := func(text string) {
		t.Helper()
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"t":"end","w":"message","o":"owner"}`)
	soon(t, "they write", func() bool {
		p := s.here(base)
		return p.Typing == "message" && p.Top == "end" &&
			p.Follows == "owner"
	})
	say(`{"t":"<script>alert(1)</script>","w":"reply:x y","l":"R1","f":"javascript:alert(1)//","a":true}`)
	soon(t, "they are away", func() bool { return s.here(base).Away })
	if p := s.here(base); p.Top != "" || p.Typing != "" || p.File != "" || p.Line != "R1" {
		t.Errorf("what is no place was taken: %+v", p)
	}
	say(`nonsense`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for err := error(nil); err == nil; {
		_, _, err = ws.Read(ctx)
	}
	if ctx.Err() != nil {
		t.Error("a page that says nonsense is listened to")
	}
}

// A page cannot report a place outside of the session, or one that its reader may not see.
func TestInvalidPlaces(t *testing.T) {
	for _, c := range []struct{ at, in string }{{"chat", "other"}, {"changes", "../x"}, {"terminals", "nothing"},
		{"nowhere", ""}, {"", ""}} {
		s := open(t)
		base, _ := s.session()
		s.visitor(base, c.at, c.in)
		soon(t, "the reader is here", func() bool { return len(s.pages.Presence.People(s.uri(base))) == 1 })
		if p := s.here(base); p.Channel != "" || strings.Contains(p.Href, "?") || strings.Contains(p.Href, "other") {
			t.Errorf("%v is %+v", c, p)
		}
	}
}

// After a silent disconnect a page's reader is not shown, although its stream may recover; then it is shown again.
func TestADeadNetworkIsNoticed(t *testing.T) {
	s := open(t, func(d *pages.Deps) {
		d.Heartbeat = live.Heartbeat{Every: 5 * time.Millisecond, LostAfter: 20 * time.Millisecond}
	})
	base, _ := s.session()
	ws := s.visitor(base, "threads", "")
	soon(t, "nobody is shown who answers no ping",
		func() bool { return len(s.pages.Presence.People(s.uri(base))) == 0 && s.pages.Presence.Count() == 1 })
	read := make(chan struct{})
	go func() {
		defer close(read)
		for err := error(nil); err == nil; {
			_, _, err = ws.Read(t.Context())
		}
	}()
	soon(t, "they are shown again", func() bool { return s.here(base).Page == "threads" })
	_ = ws.CloseNow()
	<-read
}
