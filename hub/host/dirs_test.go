package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// AHP requirement 82.
func TestAnAgentOfOneDirectoryGetsTheFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := core.FileURI(t.TempDir()), core.FileURI(t.TempDir())
		c := w.connect(owner, "ana-1")
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: session,
			WorkingDirectories: []ahp.URI{first, second}}))
		c.subscribe(session)
		if d := cmp.Diff([]ahp.URI{first}, w.session().WorkingDirectories); d != "" {
			t.Error(d)
		}
	})
}

// AHP requirements 54 and 60: subscribers of root are notified of new and disposed sessions, and
// sessions are counted in between.
func TestRootHearsOfSessions(t *testing.T) {
	inWorld(t, func(w *world) {
		follower, stranger := w.connect(owner, "ana-2"), w.connect(owner, "ana-3")
		follower.subscribe(ahp.RootURI)
		c := w.create()
		stranger.subscribe(session)
		if got := *w.host.core.RootState().ActiveSessions; got != 1 {
			t.Errorf("%d sessions are active", got)
		}
		w.must(w.host.DisposeSession(w.t.Context(), c.caller, ahp.DisposeSessionParams{Channel: session}))
		if got := *w.host.core.RootState().ActiveSessions; got != 0 {
			t.Errorf("%d sessions are active, of which one is disposed", got)
		}
		follower.subscribe(ahp.RootURI)
		follower.mu.Lock()
		defer follower.mu.Unlock()
		var methods []string
		for _, n := range follower.notes {
			if n.Method == "root/sessionAdded" || n.Method == "root/sessionRemoved" {
				methods = append(methods, n.Method)
			}
		}
		if d := cmp.Diff([]string{"root/sessionAdded", "root/sessionRemoved"}, methods); d != "" {
			t.Error(d)
		}
		stranger.mu.Lock()
		defer stranger.mu.Unlock()
		if len(stranger.notes) > 0 {
			t.Errorf("one that does not follow root hears %d notifications", len(stranger.notes))
		}
	})
}
