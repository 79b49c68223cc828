package machines_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/machines"
)

// People are notified once of a machine that stays offline while turns run on it, and again when it reconnects, but not
// of short interruptions, idle machines and revoked machines.
func TestAbsenceIsToldOnceAndWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := machines.Open(t.Context(), machines.Config{Docs: &memory{docs: map[string][]byte{}}, Seal: sealing{}})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{Registry: r}
		busy, idle := w.join(t, "busy"), w.join(t, "idle")
		w.join(t, "unseen")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var told []machines.Absence
		go r.FollowAbsences(ctx, time.Minute, func(id string) []string {
			if id == busy.ID {
				return []string{"one", "two"}
			}
			return nil
		}, func(a machines.Absence) { told = append(told, a) })
		connect := func(id string) func() {
			t.Helper()
			_, _, leave, err := r.Connect(t.Context(), id, machines.Report{})
			if err != nil {
				t.Fatal(err)
			}
			r.SetReady(id)
			synctest.Wait()
			return leave
		}
		after := func(pause time.Duration) []machines.Absence {
			time.Sleep(pause)
			synctest.Wait()
			return told
		}

		if _, _, _, err := r.Connect(t.Context(), busy.ID, machines.Report{}); err != nil {
			t.Fatal(err)
		}
		if after(time.Hour); len(told) != 0 {
			t.Fatalf("told of a machine that has not said what it can do: %+v", told)
		}
		leave := connect(busy.ID)
		connect(idle.ID)()
		leave()
		if after(59 * time.Second); len(told) != 0 {
			t.Fatalf("told of a short cut: %+v", told)
		}
		leave = connect(busy.ID)
		if after(time.Hour); len(told) != 0 {
			t.Fatalf("told of a machine that is back in time: %+v", told)
		}
		leave()
		if after(time.Hour); len(told) != 1 || told[0].Back || told[0].Machine.Name != "busy" ||
			!slices.Equal(told[0].Sessions, []string{"one", "two"}) {
			t.Fatalf("told of an hour's absence: %+v", told)
		}
		leave = connect(busy.ID)
		if len(told) != 2 || !told[1].Back || len(told[1].Sessions) != 2 || !told[1].Since.Equal(told[0].Since) {
			t.Fatalf("told of its return: %+v", told)
		}
		leave()
		synctest.Wait()
		if _, err := r.Revoke(t.Context(), busy.ID); err != nil {
			t.Fatal(err)
		}
		if after(time.Hour); len(told) != 2 {
			t.Errorf("told of a revoked machine: %+v", told[2:])
		}
	})
}
