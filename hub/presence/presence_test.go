package presence

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

var (
	ana = access.Principal{ID: "ana", Name: "Ana", Role: access.RoleOwner}
	ben = access.Principal{ID: "ben", Name: "Ben", Role: access.RoleViewer, Link: "l"}
)

const here = ahp.URI("ahp-session:/1")

func at(page string) Place { return Place{Page: page} }

func names(people []Person) string {
	var list []string
	for _, p := range people {
		list = append(list, fmt.Sprintf("%s@%s:%t", p.Name, p.Place.Page, p.Here))
	}
	return strings.Join(list, " ")
}

func expect(t *testing.T, r *Tracker, want string) {
	t.Helper()
	if got := names(r.People(here)); got != want {
		t.Fatalf("people are %q, want %q", got, want)
	}
}

// room returns an empty tracker in a bubble; anything a test leaves in it is an error.
func room(t *testing.T, cfg Config, test func(t *testing.T, r *Tracker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := New(cfg)
		defer r.Close()
		test(t, r)
		time.Sleep(time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.sessions) != 0 {
			t.Errorf("an empty session is kept: %v", r.sessions)
		}
	})
}

func TestJoinMoveAndEnd(t *testing.T) {
	room(t, Config{}, func(t *testing.T, r *Tracker) {
		first := r.Join(ana, here, at("chat"))
		time.Sleep(time.Second)
		second := r.Join(ben, here, at("changes"))
		expect(t, r, "Ana@chat:true Ben@changes:true")
		if p := r.People(here); p[0].Guest || !p[1].Guest {
			t.Error("a guest is shown as a guest, and nobody else")
		}
		if p := r.People(here); p[0].Hue == p[1].Hue {
			t.Error("two people have one colour")
		}
		second.Move(at("main.go"))
		expect(t, r, "Ana@chat:true Ben@main.go:true")

		second.End()
		second.Move(at("nowhere"))
		expect(t, r, "Ana@chat:true Ben@main.go:false")
		time.Sleep(10 * time.Second)
		expect(t, r, "Ana@chat:true")
		first.End()
		first.End()
		time.Sleep(10 * time.Second)
		expect(t, r, "")
	})
}

func TestReloadDoesNotFlicker(t *testing.T) {
	room(t, Config{}, func(t *testing.T, r *Tracker) {
		r.Join(ana, here, at("chat")).End()
		time.Sleep(time.Second)
		first := r.Join(ana, here, at("chat"))
		time.Sleep(time.Minute)
		expect(t, r, "Ana@chat:true")
		second := r.Join(ana, here, at("terminals"))
		first.End()
		time.Sleep(time.Minute)
		expect(t, r, "Ana@terminals:true")
		second.End()
	})
}

// A viewer who closes a page is removed within the linger time; one whose connection is lost is
// hidden immediately.
func TestHideLostPage(t *testing.T) {
	room(t, Config{}, func(t *testing.T, r *Tracker) {
		v := r.Join(ana, here, at("chat"))
		v.MarkLost()
		expect(t, r, "")
		v.MarkBack()
		expect(t, r, "Ana@chat:true")
		other := r.Join(ana, here, at("changes"))
		other.MarkLost()
		expect(t, r, "Ana@chat:true")
		v.MarkLost()
		expect(t, r, "")
		other.End()
		expect(t, r, "")
		v.End()
		expect(t, r, "")
	})
}

// The most recently used page is shown; an idle one only if there is no other.
func TestShowLastUsedPage(t *testing.T) {
	room(t, Config{}, func(t *testing.T, r *Tracker) {
		chat, diff := r.Join(ana, here, at("chat")), r.Join(ana, here, at("changes"))
		expect(t, r, "Ana@changes:true")
		chat.Move(Place{Page: "chat", Typing: "message"})
		expect(t, r, "Ana@chat:true")
		diff.Move(Place{Page: "changes", Away: true})
		expect(t, r, "Ana@chat:true")
		chat.Move(Place{Page: "chat", Away: true})
		if p := r.People(here)[0]; !p.Place.Away {
			t.Error("all pages were left alone, and she is not away")
		}
		chat.End()
		diff.End()
	})
}

func TestWatchTicksOnEveryChange(t *testing.T) {
	room(t, Config{}, func(t *testing.T, r *Tracker) {
		changed, cancel := r.Watch(here)
		defer cancel()
		ticked := func() bool {
			select {
			case <-changed:
				return true
			default:
				return false
			}
		}
		v := r.Join(ana, here, at("chat"))
		v.Move(at("file"))
		if !ticked() || ticked() {
			t.Fatal("two changes at once are one tick")
		}
		v.Move(at("file"))
		if ticked() {
			t.Fatal("the same place again is no change")
		}
		for _, c := range []struct {
			what   string
			change func()
		}{{"lost", v.MarkLost}, {"back", v.MarkBack}, {"closed", v.End},
			{"gone", func() { time.Sleep(10 * time.Second) }}} {
			if c.change(); !ticked() {
				t.Fatalf("nobody is told that a page is %s", c.what)
			}
		}
		cancel()
	})
}

func TestBounds(t *testing.T) {
	room(t, Config{MaxPeople: 1, MaxVisits: 2}, func(t *testing.T, r *Tracker) {
		first := r.Join(ana, here, at(strings.Repeat("é", 500)))
		late := r.Join(ben, here, at("chat"))
		late.Move(at("changes"))
		late.MarkLost()
		late.MarkBack()
		late.End()
		people := r.People(here)
		if len(people) != 1 || len(people[0].Place.Page) > 200 {
			t.Fatalf("not bounded: %d people, place of %d bytes", len(people), len(people[0].Place.Page))
		}
		second, third := r.Join(ana, here, at("a")), r.Join(ana, here, at("b"))
		expect(t, r, "Ana@a:true")
		third.End()
		second.End()
		first.End()
	})
}
