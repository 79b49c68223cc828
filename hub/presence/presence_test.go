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
	ben = access.Principal{ID: "ben", Name: "Ben", Role: access.RoleViewer}
)

const here = ahp.URI("ahp-session:/1")

func names(people []Person) string {
	var list []string
	for _, p := range people {
		list = append(list, fmt.Sprintf("%s@%s:%t", p.Name, p.Where, p.Here))
	}
	return strings.Join(list, " ")
}

func expect(t *testing.T, r *Room, want string) {
	t.Helper()
	if got := names(r.People(here)); got != want {
		t.Fatalf("people are %q, want %q", got, want)
	}
}

func TestComingMovingAndLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		defer r.Close()
		leaveAna := r.Join(ana, here, "chat")
		time.Sleep(time.Second)
		leaveBen := r.Join(ben, here, "changes")
		expect(t, r, "Ana@chat:true Ben@changes:true")

		r.Update(ben, here, "main.go")
		expect(t, r, "Ana@chat:true Ben@main.go:true")

		leaveBen()
		expect(t, r, "Ana@chat:true Ben@main.go:false")
		time.Sleep(10 * time.Second)
		expect(t, r, "Ana@chat:true")
		leaveAna()
		leaveAna()
		time.Sleep(10 * time.Second)
		expect(t, r, "")
		if len(r.sessions) != 0 {
			t.Fatal("an empty session is kept")
		}
	})
}

func TestReloadDoesNotFlicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		defer r.Close()
		r.Join(ana, here, "chat")()
		time.Sleep(time.Second)
		leave := r.Join(ana, here, "chat")
		time.Sleep(time.Minute)
		expect(t, r, "Ana@chat:true")
		second := r.Join(ana, here, "terminals")
		leave()
		time.Sleep(time.Minute)
		expect(t, r, "Ana@terminals:true")
		second()
	})
}

func TestWatchTicksOnEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		defer r.Close()
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
		leave := r.Join(ana, here, "chat")
		r.Update(ana, here, "file")
		if !ticked() || ticked() {
			t.Fatal("two changes at once are one tick")
		}
		r.Update(ana, here, "file")
		if ticked() {
			t.Fatal("the same place again is no change")
		}
		leave()
		if !ticked() {
			t.Fatal("a closed page is a change")
		}
		time.Sleep(10 * time.Second)
		if !ticked() {
			t.Fatal("leaving is a change")
		}
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{MaxPeople: 1, MaxVisits: 2})
		defer r.Close()
		leave := r.Join(ana, here, strings.Repeat("é", 500))
		r.Join(ben, here, "chat")()
		people := r.People(here)
		if len(people) != 1 || len(people[0].Where) > 200 {
			t.Fatalf("not bounded: %d people, place of %d bytes", len(people), len(people[0].Where))
		}
		second, third := r.Join(ana, here, "a"), r.Join(ana, here, "b")
		expect(t, r, "Ana@a:true")
		third()
		second()
		leave()
	})
}
