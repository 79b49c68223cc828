package live

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
)

// follow returns a function that takes the frames since the last call, as a reader does, without a socket.
func (e *Engine) follow(t *testing.T, at string) func() (frames []string) {
	t.Helper()
	m, err := parseMark(at)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.feedOf(t.Context(), ana, m.room)
	if err != nil {
		t.Fatal(err)
	}
	epoch, n := m.epoch, m.n
	return func() (frames []string) {
		for {
			next, err := f.frameAfter(epoch, n)
			if err != nil || next.bytes == nil {
				return frames
			}
			frames = append(frames, string(next.bytes))
			epoch, n = f.epoch, next.n
		}
	}
}

func TestUpdatesWithinThePaceAreDrawnTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		_, mark := e.draw(t, ana)
		frames := e.follow(t, mark)
		e.setTitle(t, "at once")
		synctest.Wait()
		if got := frames(); len(got) != 1 {
			t.Errorf("the first update made the frames %q at once", got)
		}
		for i := range 5 {
			e.setTitle(t, fmt.Sprint("title ", i))
			time.Sleep(pace / 10)
		}
		synctest.Wait()
		if got := frames(); len(got) != 0 {
			t.Errorf("within %v came the frames %q", pace, got)
		}
		time.Sleep(pace)
		synctest.Wait()
		if got := frames(); len(got) != 1 || e.Renders() != 2 {
			t.Errorf("five updates made the frames %q, and all %d renders", got, e.Renders())
		}
	})
}

func TestUpdateThatLooksTheSameIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		_, mark := e.draw(t, ana)
		frames := e.follow(t, mark)
		e.setTitle(t, "first")
		time.Sleep(pace)
		synctest.Wait()
		if got := frames(); len(got) != 0 || e.Renders() != 0 {
			t.Errorf("a title set to what it was made %d renders and the frames %q", e.Renders(), got)
		}
	})
}

func TestPageHasWhatWasDoneBeforeIt(t *testing.T) {
	e := newEngine(t, Config{})
	for i := range 50 {
		e.setTitle(t, fmt.Sprint("title ", i))
		if title, _ := e.draw(t, ana); title != fmt.Sprint("title ", i) {
			t.Fatalf("after title %d a page shows %q", i, title)
		}
	}
}

func TestSlowReaderGetsWholePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		_, mark := e.draw(t, ana)
		frames := e.follow(t, mark)
		for i := range keptFrames + 1 {
			e.setTitle(t, fmt.Sprint("title ", i))
			time.Sleep(pace)
		}
		synctest.Wait()
		got := frames()
		if len(got) != 1 || e.Renders() != keptFrames+2 {
			t.Fatalf("a reader %d frames behind is sent %d frames; %d renders", keptFrames+1, len(got), e.Renders())
		}
		if _, now := e.draw(t, ana); markIn(t, got[0]) != now {
			t.Errorf("the whole is at %s, a page at %s", markIn(t, got[0]), now)
		}
	})
}

func TestRoomEndsAfterItsLastReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		_, mark := e.draw(t, ana)
		time.Sleep(idleLimit / 2)
		if _, again := e.draw(t, ana); again != mark {
			t.Errorf("a reload finds the room at %s, the page had %s", again, mark)
		}
		time.Sleep(2 * idleLimit)
		synctest.Wait()
		if n := e.cfg.Hub.CountFollowers(sessionURI); n != 0 {
			t.Errorf("%d rooms follow a session that no page shows", n)
		}
		e.setTitle(t, "later")
		if title, later := e.draw(t, ana); later == mark || title != "later" {
			t.Errorf("the room that opens then shows %q at %s", title, later)
		}
	})
}

func TestRoomOfMissingChannelIsGone(t *testing.T) {
	e := newEngine(t, Config{})
	if err := e.cfg.Hub.Do(func(tx *hub.Tx) { tx.Close(sessionURI) }); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Draw(t.Context(), ana, sessionRoom, func(Room, States) {}); !errors.Is(err, ErrGone) {
		t.Errorf("a room of a session that is gone is drawn: %v", err)
	}
}

func TestCloseEndsEveryRoom(t *testing.T) {
	e := newEngine(t, Config{})
	_, mark := e.draw(t, ana)
	s := dial(t, serve(t, e, ana), mark)
	e.Close()
	if n := e.cfg.Hub.CountFollowers(sessionURI); n != 0 {
		t.Errorf("%d rooms follow the session after Close", n)
	}
	if _, _, err := s.ws.Read(t.Context()); err == nil {
		t.Error("a stream of a room that ended is sent something")
	}
	if _, err := e.Draw(t.Context(), ana, sessionRoom, func(Room, States) {}); err == nil {
		t.Error("a room opens after Close")
	}
}

func TestPrincipalsShareARoomByAudienceAndShare(t *testing.T) {
	opened := 0
	e := newEngine(t, Config{Rooms: Table{"session": {Share: func(who access.Principal) string { return who.Name },
		Open: func(ctx context.Context, who access.Principal, words []string) (Room, error) {
			opened++
			return openTitle(ctx, who, words)
		}}}})
	member := func(id, name string) access.Principal {
		return access.Principal{ID: id, Name: name, Role: access.RoleOwner}
	}
	for _, who := range []access.Principal{member("1", "Ben"), member("2", "Ben"), member("1", "Ben")} {
		e.draw(t, who)
	}
	if opened != 1 {
		t.Errorf("two people for whom a room looks the same have %d", opened)
	}
	e.draw(t, member("3", "Carla"))
	if opened != 2 {
		t.Errorf("two people for whom a room looks different have %d", opened)
	}
}

func TestUnknownRoomsAreRefused(t *testing.T) {
	e := newEngine(t, Config{})
	for _, name := range []string{"", "nothing", "nothing:1", ":session"} {
		if _, err := e.Draw(t.Context(), ana, name, func(Room, States) {}); !errors.Is(err, ErrNoRoom) {
			t.Errorf("the room %q: %v", name, err)
		}
	}
	if _, err := e.Draw(t.Context(), access.Principal{}, sessionRoom, func(Room, States) {}); err == nil {
		t.Error("a room is drawn for a visitor who is not signed in")
	}
}

func TestPingDrawsARoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, ticks := 0, make(chan struct{})
		open := func(context.Context, access.Principal, []string) (Room, error) {
			draw := func(States) []Patch { n++; return []Patch{Replace("n", element("n", fmt.Sprint(n)))} }
			watch := func(ping func()) (stop func()) { return PingOn(ticks, func() {}, ping) }
			return &titleRoom{Redraw{Draw: draw}, watch}, nil
		}
		e := newEngine(t, Config{Rooms: Table{"session": {Open: open}}})
		_, mark := e.draw(t, ana)
		frames := e.follow(t, mark)
		ticks <- struct{}{}
		time.Sleep(pace)
		synctest.Wait()
		if got := frames(); len(got) != 1 {
			t.Errorf("a tick made the frames %q", got)
		}
	})
}
