package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// neighbour is a second session in the directories of the first.
const neighbour ahp.URI = "ahp-session:/neighbour"

// newNeighbour creates the second session and follows its changes.
func (c *changing) newNeighbour() ahp.URI {
	c.t.Helper()
	c.must(c.host.CreateSession(c.t.Context(), c.owner, ahp.CreateSessionParams{Channel: neighbour,
		WorkingDirectories: []ahp.URI{core.FileURI(c.dir)}}))
	return c.followAll(neighbour)
}

func (c *changing) followAll(session ahp.URI) ahp.URI {
	c.t.Helper()
	uri := changes.URI(session, "session", "")
	c.must(c.host.Prepare(c.t.Context(), c.owner, uri))
	c.until(uri+" is computed", func() bool { return c.changes(uri).Status == ahp.ChangesetStatusReady })
	return uri
}

// patch computes the current patch of a changeset.
func (c *changing) patch(uri ahp.URI) string {
	c.t.Helper()
	patch, err := c.host.Changes.Patch(c.t.Context(), c.owner, uri)
	c.must(err)
	return string(patch)
}

func TestSessionLeavesOutWhatOtherSessionsEdit(t *testing.T) {
	c := newChanging(t)
	theirs := c.newNeighbour()
	written, seen := make(chan struct{}), make(chan struct{})
	c.agent.prompt = func(context.Context, agent.Turn) error {
		c.write("a.txt", "one\ntwo\nthree\n")
		close(written)
		<-seen
		return nil
	}
	c.dispatch(c.chat(), started("go"))
	<-written
	if c.patch(theirs) != "" {
		t.Error("a session shows what a running turn of another one edits")
	}
	close(seen)
	c.until("the turn ends", func() bool { return c.chatState().ActiveTurn == nil })
	c.turn(func() { c.write("a.txt", "one\n"); c.write("new.txt", "new\n") })
	c.write("mine.txt", "by hand\n")
	c.shows(theirs, "A mine.txt +1 −0 outside")
	sum, _ := c.host.Summary(neighbour)
	if sum.Changes == nil || *sum.Changes.Files != 1 || *sum.Changes.Additions != 1 || *sum.Changes.Deletions != 0 {
		t.Errorf("the session that edited nothing has the totals %+v", sum.Changes)
	}
	c.write("a.txt", "one, by hand\n")
	if patch := c.patch(theirs); !strings.Contains(patch, "+one, by hand") {
		t.Errorf("a file that was edited by hand after another session's turn is left out: %s", patch)
	}
}

// Reverting all of a session's changes keeps those of other sessions.
func TestRevertLeavesWhatOtherSessionsEdited(t *testing.T) {
	c := newChanging(t)
	theirs := c.newNeighbour()
	c.turn(func() { c.write("a.txt", "one\n") })
	c.write("mine.txt", "by hand\n")
	c.shows(theirs, "A mine.txt +1 −0 outside")
	c.does("Reverted mine.txt", theirs, "revert", nil)
	if c.read("a.txt") != "one\n" || c.read("mine.txt") != "(none)" {
		t.Errorf("reverting left %q and %q", c.read("a.txt"), c.read("mine.txt"))
	}
}

// A file that either of two concurrent turns may have written is shown by both sessions, and by no
// other.
func TestEditsOfTurnsAtOnceAreOfBothSessions(t *testing.T) {
	c := newChanging(t)
	mine, theirs := c.followAll(session), c.newNeighbour()
	const third ahp.URI = "ahp-session:/third"
	c.must(c.host.CreateSession(t.Context(), c.owner, ahp.CreateSessionParams{Channel: third,
		WorkingDirectories: []ahp.URI{core.FileURI(c.dir)}}))
	uninvolved := c.followAll(third)
	ref := func(session ahp.URI, turn string) changes.TurnRef {
		return changes.TurnRef{Session: session, Chat: c.chat(), Turn: turn, Dirs: []string{c.dir}}
	}
	c.host.Changes.StartTurn(t.Context(), ref(session, "1"))
	c.host.Changes.StartTurn(t.Context(), ref(neighbour, "2"))
	c.write("a.txt", "one\n")
	c.host.Changes.EndTurn(t.Context(), ref(session, "1"))
	c.host.Changes.EndTurn(t.Context(), ref(neighbour, "2"))
	c.shows(mine, "M a.txt +0 −1")
	c.shows(theirs, "M a.txt +0 −1")
	if c.patch(uninvolved) != "" {
		t.Error("a session without a turn shows what turns of others changed")
	}
}

func TestSessionLeavesOutOthersEditsAfterRestart(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	f := &fake{}
	caller := core.Caller{Principal: owner, ClientID: "ana-1"}
	first := newLife(t, data, f, core.Limits{})
	c := &changing{world: &world{t: t, hub: first.hub, host: first.host, agent: f, dir: dir}, owner: caller}
	c.must(c.host.CreateSession(t.Context(), caller, ahp.CreateSessionParams{Channel: session,
		WorkingDirectories: []ahp.URI{core.FileURI(dir)}}))
	c.until("the session is ready", func() bool { return c.session().Lifecycle == ahp.SessionLifecycleReady })
	theirs := c.newNeighbour()
	c.turn(func() { c.write("new.txt", "new\n") })
	first.end(true)

	second := newLife(t, data, f, core.Limits{})
	c = &changing{world: &world{t: t, hub: second.hub, host: second.host, agent: f, dir: dir}, owner: caller}
	c.must(os.Remove(filepath.Join(dir, "new.txt")))
	c.write("new.txt", "new\n")
	c.must(c.host.Prepare(t.Context(), caller, theirs))
	c.write("mine.txt", "by hand\n")
	c.shows(theirs, "A mine.txt +1 −0 outside")
}

// Changes of a moved chat's turns are shown by the new session as made by turns.
func TestMovedTurnsAreOfTheirNewSession(t *testing.T) {
	const chat ahp.URI = "ahp-chat:/2"
	c := newChanging(t)
	theirs := c.newNeighbour()
	c.must(c.host.CreateChat(t.Context(), c.owner, ahp.CreateChatParams{Channel: session, Chat: chat}))
	c.agent.prompt = func(context.Context, agent.Turn) error { c.write("a.txt", "one\n"); return nil }
	c.dispatch(chat, &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("go")})
	c.until("the turn is over", func() bool {
		s, ok := hub.StateOf[*ahp.ChatState](c.hub, chat)
		return ok && core.HasTurn(s, "t") && s.ActiveTurn == nil
	})
	_, err := c.host.MoveChat(t.Context(), c.owner, ahp.MoveChatParams{Channel: chat,
		Destination: ahp.MoveChatDestination{Value: &ahp.MoveChatSessionDestination{Session: neighbour}}})
	c.must(err)
	c.host.Changes.Refresh(neighbour)
	c.shows(theirs, "M a.txt +0 −1")
}
