package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A chat's change records and review marks move with it to another session. They survive a restart,
// and the deletion of the old session.
func TestAMovedChatBringsItsChanges(t *testing.T) {
	for _, into := range []string{"another session", "a session of its own"} {
		t.Run(into, func(t *testing.T) { movesWithChanges(t, into == "another session") })
	}
}

func movesWithChanges(t *testing.T, known bool) {
	const chat, two = ahp.URI("ahp-chat:/2"), ahp.URI("ahp-session:/two")
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
	one := newLife(t, data, f, core.Limits{})
	c := &changing{world: &world{t: t, hub: one.hub, host: one.host, agent: f, dir: dir}, owner: caller}
	for _, s := range []ahp.URI{session, two} {
		c.must(c.host.CreateSession(t.Context(), caller, ahp.CreateSessionParams{Channel: s,
			WorkingDirectories: []ahp.URI{core.FileURI(dir)}}))
	}
	c.until("the session is ready", func() bool { return c.session().Lifecycle == ahp.SessionLifecycleReady })
	c.must(c.host.CreateChat(t.Context(), caller, ahp.CreateChatParams{Channel: session, Chat: chat}))
	c.dispatch(chat, &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("go")})
	turns := func() *ahp.ChatState {
		c.must(c.host.Prepare(t.Context(), caller, chat))
		s, _ := hub.StateOf[*ahp.ChatState](c.hub, chat)
		return s
	}
	c.until("the turn is over", func() bool { return len(turns().Turns) == 1 })
	was := c.follow("turn", "t")
	c.dispatch(was, &ahp.ChangesetFilesReviewChangedAction{Files: []string{core.FileURI(name)}, Reviewed: true})
	c.shows(was, "M a.txt +1 −0 reviewed by Ana")

	to := ahp.MoveChatDestination{Value: &ahp.MoveChatNewSessionDestination{}}
	if known {
		to = ahp.MoveChatDestination{Value: &ahp.MoveChatSessionDestination{Session: two}}
	}
	res, err := c.host.MoveChat(t.Context(), caller, ahp.MoveChatParams{Channel: chat, Destination: to})
	c.must(err)
	is := changes.URI(res.Session, "turn", "t")
	if _, open := c.hub.Info(was); open {
		t.Error("the session it left goes on showing what the turn changed")
	}
	if known, err := c.host.Changes.Open(t.Context(), caller, was); known || err != nil {
		t.Errorf("what the turn changed is still of the session it left: %v", err)
	}
	c.must(c.host.Prepare(t.Context(), caller, is))
	c.shows(is, "M a.txt +1 −0 reviewed by Ana")
	c.must(c.host.DisposeSession(t.Context(), caller, ahp.DisposeSessionParams{Channel: session}))
	c.host.Changes.Forget(t.Context(), session)
	one.end(true)

	second := newLife(t, data, f, core.Limits{})
	c = &changing{world: &world{t: t, hub: second.hub, host: second.host, agent: f, dir: dir}, owner: caller}
	if info, _ := c.hub.Info(chat); info.Session != res.Session {
		t.Fatalf("after a restart the chat is of %s", info.Session)
	}
	if sum, _ := c.host.Summary(res.Session); !slices.ContainsFunc(sum.Chats,
		func(s ahp.SessionChatSummary) bool { return s.Resource == chat }) {
		t.Errorf("after a restart its session lists %+v", sum.Chats)
	}
	c.must(c.host.Prepare(t.Context(), caller, is))
	c.shows(is, "M a.txt +1 −0 reviewed by Ana")
	f.prompt = func(context.Context, agent.Turn) error { write("one\ntwo\nthree\n"); return nil }
	turns()
	c.dispatch(chat, &ahp.ChatTurnStartedAction{TurnID: "u", Message: user("on")})
	c.until("the next turn is over", func() bool { return len(turns().Turns) == 2 })
	next := changes.URI(res.Session, "turn", "u")
	c.must(c.host.Prepare(t.Context(), caller, next))
	c.shows(next, "M a.txt +1 −0")
}

// A fork shares the turns of its source, and keeps them when either of the two moves away.
func TestAForkKeepsItsTurnsChanges(t *testing.T) {
	c := newChanging(t)
	const chat, fork = ahp.URI("ahp-chat:/2"), ahp.URI("ahp-chat:/3")
	c.agent.prompt = func(context.Context, agent.Turn) error { c.write("a.txt", "one\ntwo\nthree\n"); return nil }
	c.must(c.host.CreateChat(t.Context(), c.owner, ahp.CreateChatParams{Channel: session, Chat: chat}))
	c.dispatch(chat, &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("go")})
	c.until("the turn is over", func() bool {
		s, _ := hub.StateOf[*ahp.ChatState](c.hub, chat)
		return len(s.Turns) == 1
	})
	c.must(c.host.CreateChat(t.Context(), c.owner, ahp.CreateChatParams{Channel: session, Chat: fork,
		Source: &ahp.ChatSource{Value: &ahp.ForkChatSource{Chat: chat, TurnID: "t"}}}))
	uri := c.follow("turn", "t")
	res, err := c.host.MoveChat(t.Context(), c.owner, ahp.MoveChatParams{Channel: chat,
		Destination: ahp.MoveChatDestination{Value: &ahp.MoveChatNewSessionDestination{}}})
	c.must(err)
	c.shows(uri, "M a.txt +1 −0")
	moved := changes.URI(res.Session, "turn", "t")
	c.must(c.host.Prepare(t.Context(), c.owner, moved))
	c.shows(moved, "M a.txt +1 −0")
}
