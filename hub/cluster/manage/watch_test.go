package manage

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/cluster"
)

// People are notified once of a node that is down for the grace period, and once when it is back, whichever node leads by then.
func TestAbsencesAreReportedOnce(t *testing.T) {
	docs := &documents{all: map[string]map[string][]byte{}}
	began := time.Now().Truncate(time.Second)
	var got []Absence
	lead := func() *watcher {
		w := &watcher{WatchConfig: WatchConfig{Docs: docs, Grace: time.Minute, Notify: func(a Absence) error {
			got = append(got, a)
			return nil
		}}, down: map[string]time.Time{}, told: map[string]time.Time{}}
		if err := w.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w
	}
	see := func(w *watcher, after time.Duration, nodes map[string]string) {
		t.Helper()
		s := &Status{Tolerates: 1}
		for name, problem := range nodes {
			s.Nodes = append(s.Nodes, NodeStatus{Server: cluster.Server{ID: name, Votes: true}, Error: problem})
			if problem != "" {
				s.Tolerates = 0
			}
		}
		if err := w.compare(t.Context(), s, began.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	up, down := map[string]string{"a": "", "b": "", "c": ""}, map[string]string{"a": "", "b": "", "c": "it does not answer"}

	first := lead()
	see(first, 0, up)
	see(first, time.Second, down)
	see(first, 30*time.Second, up) // a restart is not reported
	see(first, 40*time.Second, down)
	see(first, 99*time.Second, down)
	if len(got) != 0 {
		t.Fatalf("people are notified too early: %+v", got)
	}
	see(first, 100*time.Second, down)
	see(first, 500*time.Second, down)

	second := lead()
	see(second, 501*time.Second, down)
	see(second, 900*time.Second, down)
	see(second, 901*time.Second, up)
	see(second, 902*time.Second, up)
	since := began.Add(40 * time.Second)
	want := []Absence{{Node: "c", Since: since}, {Node: "c", Since: since, Back: true, Tolerates: 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("people are notified (-want +got):\n%s", d)
	}

	// A node that was removed is not missed, by the next leader neither.
	got = nil
	see(second, 1000*time.Second, down)
	see(second, 1100*time.Second, down)
	see(second, 1101*time.Second, map[string]string{"a": "", "b": ""})
	see(lead(), 1102*time.Second, up)
	if len(got) != 1 || got[0].Back {
		t.Errorf("people are notified of a node that was removed: %+v", got)
	}
}

// A notice that could not be recorded is tried again.
func TestAbsenceIsReportedAgainAfterAFailure(t *testing.T) {
	fails := true
	calls := 0
	w := &watcher{WatchConfig: WatchConfig{Docs: &documents{all: map[string]map[string][]byte{}}, Grace: time.Minute, Notify: func(Absence) error {
		calls++
		if fails {
			return errors.New("read-only")
		}
		return nil
	}}, down: map[string]time.Time{}, told: map[string]time.Time{}}
	s, now := &Status{Nodes: []NodeStatus{{Server: cluster.Server{ID: "c"}, Error: "down"}}}, time.Now()
	if err := w.compare(t.Context(), s, now); err != nil {
		t.Fatal(err)
	}
	if w.compare(t.Context(), s, now.Add(time.Hour)) == nil {
		t.Fatal("the failure is lost")
	}
	fails = false
	for range 2 {
		if err := w.compare(t.Context(), s, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Errorf("people are notified %d times, want a failed and a good one", calls)
	}
}
