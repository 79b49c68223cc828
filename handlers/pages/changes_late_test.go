package pages

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/part"
)

// That directories are looked at from time to time comes to open pages, and goes again.
func TestLateChangesAreSaid(t *testing.T) {
	late := drawingOf(nil)
	late.page.Late = "Changes show up to 10 seconds late."
	for _, to := range [][2]*drawing{{drawingOf(nil), late}, {late, drawingOf(nil)}} {
		if got := ops(difference(to[0], to[1])); got != "r tree|r changes-state" {
			t.Errorf("sent is %q", got)
		}
	}
}

// A page that does not wait for colours comes plain, and gets them when they are there; the next one has them at once.
func TestColoursFollow(t *testing.T) {
	x := openTree(t)
	x.pages.hasty = true
	x.write("main.go", "package main\n")
	x.changes("main.go")
	const coloured = "package</i>"
	b := x.tab(x.base + "/changes?scope=uncommitted&ws=ignore") // a look that nothing was compared for yet
	box := "file-" + x.key(b.html("files"), "main.go")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !strings.Contains(b.html(box), coloured) {
		if err := b.read(ctx); err != nil {
			t.Fatalf("%v; it shows\n%s", err, b.html(box))
		}
	}
	if page := x.get(x.base + "/changes?scope=uncommitted&ws=ignore"); !strings.Contains(page, coloured) {
		t.Error("the next page has no colours")
	}
}

// What a page shows plain is sent once, with the drawing that has the colours, and nothing else is sent again.
func TestColoursAreSentOnce(t *testing.T) {
	src := &diff.File{}
	room := &changesRoom{wake: make(chan struct{}, 1)}
	for _, c := range []struct {
		plain map[string]bool
		want  string
	}{{map[string]bool{"a": true}, "r file-" + part.DiffKey("a")}, {nil, ""}, {map[string]bool{"b": true}, "r file-" + part.DiffKey("b")}} {
		room.colour(c.plain)
		room.next = drawingOf(nil, fileAt("a", src), fileAt("b", src))
		room.next.news = 1
		if got := ops(room.Changed(nil, News{})); got != c.want {
			t.Errorf("plain were %v, sent is %q, want %q", c.plain, got, c.want)
		}
	}
}

// A page is not drawn again because files are being read: what comes of that follows.
func TestReadingAgainIsNotDrawn(t *testing.T) {
	for status, want := range map[ahp.ChangesetStatus]bool{ahp.ChangesetStatusRecomputing: false, ahp.ChangesetStatusReady: true, ahp.ChangesetStatusError: true} {
		if got := drawn(&hub.Envelope{Action: &ahp.ChangesetStatusChangedAction{Status: status}}); got != want {
			t.Errorf("%s is drawn: %v", status, got)
		}
	}
}
