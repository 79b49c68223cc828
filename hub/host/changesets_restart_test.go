package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestChangesetsSurviveARestart(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	name := filepath.Join(dir, "a.txt")
	write := func(content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	f := &fake{prompt: func(context.Context, agent.Turn) error { write("one\ntwo\n"); return nil }}
	caller := core.Caller{Principal: owner, ClientID: "ana-1"}

	first := newLife(t, data, f, core.Limits{})
	c := &changing{world: &world{t: t, hub: first.hub, host: first.host, agent: f, dir: dir}, owner: caller}
	c.must(c.host.CreateSession(t.Context(), caller, ahp.CreateSessionParams{Channel: session,
		WorkingDirectories: []ahp.URI{core.FileURI(dir)}}))
	c.until("the session is ready", func() bool { return c.session().Lifecycle == ahp.SessionLifecycleReady })
	a := started("go")
	c.dispatch(c.chat(), a)
	c.until("the turn ends", func() bool {
		return core.HasTurn(c.chatState(), a.TurnID) &&
			c.chatState().ActiveTurn == nil
	})
	turn := c.follow("turn", a.TurnID)
	c.dispatch(turn, &ahp.ChangesetFilesReviewChangedAction{Files: []string{core.FileURI(name)}, Reviewed: true})
	c.shows(turn, "M a.txt +1 −0 reviewed by Ana")
	all := c.follow("session", "")
	c.does("Reverted a.txt", all, "revert", nil)
	first.end(true)
	if c.read("a.txt") != "one\n" {
		t.Errorf("reverting left %q", c.read("a.txt"))
	}
	second := newLife(t, data, f, core.Limits{})
	c = &changing{world: &world{t: t, hub: second.hub, host: second.host, agent: f, dir: dir}, owner: caller}
	c.must(c.host.Prepare(t.Context(), caller, turn))
	c.shows(turn, "M a.txt +1 −0 reviewed by Ana")
	c.must(c.host.Prepare(t.Context(), caller, all))
	c.until("an undo is offered", func() bool { return c.offered(all) == "revert:disabled undo" })
	c.does("Restored 1 file", all, "undo", nil)
	c.shows(all, "M a.txt +1 −0")
	write("one\ntwo\nthree\n")
	c.shows(all, "M a.txt +2 −0")
	if _, _, files, ok := c.host.Changes.TurnTotals(t.Context(), session, a.TurnID); !ok || files != 1 {
		t.Errorf("the turn's totals are %d files, %v", files, ok)
	}
	c.must(c.host.DisposeSession(t.Context(), caller, ahp.DisposeSessionParams{Channel: session}))
	c.must(c.host.RestoreSession(t.Context(), caller, session))
	c.shows(c.follow("turn", a.TurnID), "M a.txt +1 −0 reviewed by Ana")
}
