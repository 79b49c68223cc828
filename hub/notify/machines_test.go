package notify

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
)

// The people of a session are notified once that its machine is away and once that it is back; the
// owner once for all sessions of a machine.
func TestNoticeOfAMachineThatIsAway(t *testing.T) {
	const other = "ahp-session:/two"
	for name, test := range map[string]struct {
		sessions []ahp.URI
		back     bool
		want     []Notice
	}{
		"one session": {[]ahp.URI{session}, false, []Notice{{Title: "box2 is offline", Path: "/s/short",
			Text: "Running turns continue if box2 is back within ten minutes", To: []string{"owner", "guest:ben"}}}},
		"it is back": {[]ahp.URI{session}, true, []Notice{{Title: "box2 is back", Path: "/s/short",
			Text: "It was away for 2m0s", To: []string{"owner", "guest:ben"}}}},
		"two sessions": {[]ahp.URI{session, other}, false, []Notice{
			{Title: "box2 is offline", Path: "/machines", Session: "2 sessions", To: []string{"owner"},
				Text: "Running turns continue if box2 is back within ten minutes"},
			{Title: "box2 is offline", Path: "/s/short", To: []string{"guest:ben"},
				Text: "Running turns continue if box2 is back within ten minutes"},
			{Title: "box2 is offline", Path: "/s/short", To: []string{"guest:ben"},
				Text: "Running turns continue if box2 is back within ten minutes"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newMemory())
				w.review = w.review.After(review.Joined{Person: review.Person{ID: "guest:ben", Name: "Ben"}})
				a := Absence{ID: "b2", Name: "box2", Since: time.Now().Add(-2 * time.Minute), Back: test.back, Sessions: test.sessions}
				for range 2 {
					w.do(func(tx *hub.Tx) { w.n.MachineAway(tx, a) })
				}
				synctest.Wait()
				got := told(w)
				if len(got) != len(test.want) {
					t.Fatalf("told %+v", got)
				}
				for i, x := range got {
					want := test.want[i]
					if x.Kind != Machine || x.Title != want.Title || x.Text != want.Text || x.Path != want.Path ||
						!slices.Equal(x.To, want.To) || want.Session != "" && x.Session != want.Session {
						t.Errorf("notice %d is %+v, want %+v", i, x, want)
					}
				}
			})
		})
	}
}

// Only the owner is notified, once that a node is down and once that it is back.
func TestNoticeOfANodeThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.review = w.review.After(review.Joined{Person: review.Person{ID: "guest:ben", Name: "Ben"}})
		a := NodeAbsence{Name: "n3", Since: time.Now().Add(-2 * time.Minute)}
		for range 2 {
			w.do(func(tx *hub.Tx) { w.n.NodeAway(tx, a) })
		}
		a.Back = true
		w.do(func(tx *hub.Tx) { w.n.NodeAway(tx, a) })
		synctest.Wait()
		got := told(w)
		want := [][2]string{{"Node n3 is down", "If one more node fails, nothing can be read or written"},
			{"Node n3 is back", "It was down for 2m0s"}}
		if len(got) != len(want) {
			t.Fatalf("told %+v", got)
		}
		for i, x := range got {
			if x.Kind != Machine || x.Title != want[i][0] || x.Text != want[i][1] || x.Path != "/nodes" ||
				x.Session != "Cluster" || !slices.Equal(x.To, []string{"owner"}) {
				t.Errorf("notice %d is %+v, want %q", i, x, want[i])
			}
		}
	})
}
