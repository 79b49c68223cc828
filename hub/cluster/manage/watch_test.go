package manage

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/clustertest"
)

// People are notified once when a node has been down for the grace period and once when it returns,
// even if the leader changes in between.
func TestReportAbsenceOnce(t *testing.T) {
	docs := &clustertest.Documents{}
	began := time.Now().Truncate(time.Second)
	var got []Absence
	lead := func() *watcher {
		w := &watcher{WatchConfig: WatchConfig{Docs: docs, Grace: time.Minute, Notify: func(a Absence) error {
			got = append(got, a)
			return nil
		}}, down: map[string]time.Time{}, notified: map[string]time.Time{}}
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
	up := map[string]string{"a": "", "b": "", "c": ""}
	down := map[string]string{"a": "", "b": "", "c": "it does not answer"}

	first := lead()
	see(first, 0, up)
	see(first, time.Second, down)
	see(first, 30*time.Second, up) // restarts are not reported
	see(first, 40*time.Second, down)
	see(first, 99*time.Second, down)
	if len(got) != 0 {
		t.Fatalf("people were notified too early: %+v", got)
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
		t.Errorf("notifications (-want +got):\n%s", d)
	}

	// No leader reports a removed node.
	got = nil
	see(second, 1000*time.Second, down)
	see(second, 1100*time.Second, down)
	see(second, 1101*time.Second, map[string]string{"a": "", "b": ""})
	see(lead(), 1102*time.Second, up)
	if len(got) != 1 || got[0].Back {
		t.Errorf("people were notified of a removed node: %+v", got)
	}
}

// A notification that could not be recorded is repeated.
func TestRepeatFailedAbsenceReport(t *testing.T) {
	fails := true
	calls := 0
	docs := &clustertest.Documents{}
	w := &watcher{WatchConfig: WatchConfig{Docs: docs, Grace: time.Minute, Notify: func(Absence) error {
		calls++
		if fails {
			return errors.New("read-only")
		}
		return nil
	}}, down: map[string]time.Time{}, notified: map[string]time.Time{}}
	s, now := &Status{Nodes: []NodeStatus{{Server: cluster.Server{ID: "c"}, Error: "down"}}}, time.Now()
	if err := w.compare(t.Context(), s, now); err != nil {
		t.Fatal(err)
	}
	if w.compare(t.Context(), s, now.Add(time.Hour)) == nil {
		t.Fatal("the failure was not returned")
	}
	fails = false
	for range 2 {
		if err := w.compare(t.Context(), s, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Errorf("people were notified %d times, want one failure and one success", calls)
	}
}
