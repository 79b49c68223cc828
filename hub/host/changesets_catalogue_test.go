package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// withDirs returns a session with two directories, and a chat that works only in the second.
func withDirs(t *testing.T) (c *changing, two string, chat ahp.URI) {
	t.Helper()
	c = newChanging(t)
	two = filepath.Join(t.TempDir(), "two")
	c.must(os.Mkdir(two, 0o755))
	chat = "ahp-chat:/two"
	c.must(c.hub.Do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionWorkingDirectorySetAction{Directory: core.FileURI(two)})
		s := &ahp.ChatState{Resource: chat, Title: "Two", Status: ahp.SessionStatusIdle,
			ModifiedAt:         core.Timestamp(c.host.core.Now()),
			WorkingDirectories: []ahp.URI{core.FileURI(two)}, Turns: []*ahp.Turn{},
			Origin: &ahp.ChatOrigin{Value: &ahp.ChatOriginUser{}}}
		c.host.addChat(tx, session, s) // stored without a catalogue
	}))
	return c, two, chat
}

func (c *changing) turnIn(chat ahp.URI, do func()) string {
	c.t.Helper()
	c.agent.prompt = func(context.Context, agent.Turn) error { do(); return nil }
	a := started("go")
	c.dispatch(chat, a)
	c.until("the turn ends", func() bool {
		s, ok := hub.StateOf[*ahp.ChatState](c.hub, chat)
		return ok && core.HasTurn(s, a.TurnID) && s.ActiveTurn == nil
	})
	return a.TurnID
}

// A chat with its own directories has changesets of only these, and so have its turns.
func TestChatWithItsOwnDirectories(t *testing.T) { // AHP requirement 152
	c, two, chat := withDirs(t)
	put := func(name, text string) { c.must(os.WriteFile(filepath.Join(two, name), []byte(text), 0o600)) }
	turn := c.turnIn(chat, func() { put("x.txt", "x\n"); c.write("a.txt", "somebody else's\n") })
	x := core.FileURI(filepath.Join(two, "x.txt"))
	c.shows(c.follow("turn", turn), "A "+x+" +1 −0")
	c.shows(c.follow("session", ""), "M a.txt +1 −2 outside; A "+x+" +1 −0")
	uri := changes.ChatURI(session, chat, "session")
	c.must(c.host.Prepare(t.Context(), c.owner, uri))
	c.shows(uri, "A "+x+" +1 −0")
	put("x.txt", "x\ny\n")
	c.shows(uri, "A "+x+" +2 −0")
	c.until("the session's summary has all", func() bool {
		sum, _ := c.host.Summary(session)
		return sum.Changes != nil && *sum.Changes.Files == 2 && *sum.Changes.Additions == 3
	})
	patch, err := c.host.Changes.Patch(t.Context(), c.owner, uri)
	if err != nil || strings.Contains(string(patch), "a.txt") || !strings.Contains(string(patch), "+++ b/x.txt") {
		t.Errorf("the patch: %v\n%s", err, patch)
	}
	for _, s := range c.session().Chats {
		if s.Resource == chat && (s.Changes == nil || *s.Changes.Files != 1 || *s.Changes.Additions != 1) {
			t.Errorf("the chat's summary says %+v", s.Changes)
		}
	}
	c.must(c.host.DisposeChat(t.Context(), c.owner, ahp.DisposeChatParams{Channel: chat}))
	if _, open := c.hub.Info(uri); open {
		t.Error("the changeset of a chat outlives it")
	}
	if err := c.host.Prepare(t.Context(), c.owner, uri); code(err) != ahp.CodeNotFound {
		t.Errorf("the changeset of a chat that is gone: %v", err)
	}
}

// Turns of chats in different directories do not overlap.
func TestChatsInTheirOwnDirectoriesDoNotOverlap(t *testing.T) {
	c, two, chat := withDirs(t)
	third := filepath.Join(two, "deep")
	c.must(os.Mkdir(third, 0o755))
	h := c.host
	begin := func(ref changes.TurnRef) bool {
		ref.Session, ref.Dirs = session, []string{c.dir, two}
		h.Changes.StartTurn(t.Context(), ref)
		overlaps, err := h.Changes.OverlapsTurn(t.Context(), session, ref.Turn)
		c.must(err)
		return overlaps
	}
	if begin(changes.TurnRef{Chat: chat, Turn: "1"}) {
		t.Error("a turn alone is flagged")
	}
	if !begin(changes.TurnRef{Chat: c.chat(), Turn: "2"}) {
		t.Error("a turn in all directories beside one in some is not flagged")
	}
}

// A session stored before the host offered some changesets gets them when it is loaded.
func TestOldSessionsGetTheMissingChangesets(t *testing.T) { // AHP requirement 152
	data, dir := t.TempDir(), t.TempDir()
	f := &fake{}
	caller := core.Caller{Principal: owner, ClientID: "ana-1"}
	life := newLife(t, data, f, core.Limits{})
	c := &changing{world: &world{t: t, hub: life.hub, host: life.host, agent: f, dir: dir}, owner: caller}
	c.must(c.host.CreateSession(t.Context(), caller, ahp.CreateSessionParams{Channel: session,
		WorkingDirectories: []ahp.URI{core.FileURI(dir)}}))
	c.until("the session is ready", func() bool { return c.session().Lifecycle == ahp.SessionLifecycleReady })
	offered := c.session().Changesets
	old := append([]ahp.Changeset{{Label: "Mine", URITemplate: "other:/1", ChangeKind: "other"}}, offered[0],
		offered[1])
	c.must(c.hub.Do(func(tx *hub.Tx) { tx.Apply(session, &ahp.SessionChangesetsChangedAction{Changesets: old}) }))
	life.end(true)

	life = newLife(t, data, f, core.Limits{})
	c = &changing{world: &world{t: t, hub: life.hub, host: life.host, agent: f, dir: dir}, owner: caller}
	c.must(c.host.Prepare(t.Context(), caller, session))
	if d := cmp.Diff(append(offered, old[0]), c.session().Changesets); d != "" {
		t.Error(d)
	}
	life.end(true)
}

// Two repositories in one session, one nested in the other, are compared separately.
func TestSeveralRepositories(t *testing.T) {
	c := newChanging(t)
	c.mkdir("inner")
	c.write("inner/x.txt", "x\n")
	c.git("init", "-q", "inner")
	c.git("-C", "inner", "add", "-A")
	c.git("-C", "inner", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", "commit", "-qm", "inner")
	c.must(c.hub.Do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionWorkingDirectorySetAction{Directory: core.FileURI(filepath.Join(c.dir, "inner"))})
	}))
	uri := c.follow("uncommitted", "")
	c.watched()
	c.shows(uri, "")
	c.write("inner/x.txt", "y\n")
	c.shows(uri, "M inner/x.txt +1 −1")
	c.write("a.txt", "one\n")
	c.shows(uri, "M inner/x.txt +1 −1; M a.txt +0 −1")
	turn := c.turn(func() { c.write("inner/new.txt", "new\n") })
	c.shows(c.follow("turn", turn), "A inner/new.txt +1 −0")
	sum, _ := c.host.Summary(session)
	if sum.Changes == nil || *sum.Changes.Files != 1 {
		t.Errorf("the summary says %v", sum.Changes)
	}
}

// A person's edits before, between and after turns are not the agent's. Files of concurrent turns
// in one directory are marked as overlapping.
func TestTurnsAtOnceAreFlaggedOnTheirFiles(t *testing.T) {
	c, two, chat := withDirs(t)
	put := func(name, text string) { c.must(os.WriteFile(filepath.Join(two, name), []byte(text), 0o600)) }
	alone := c.turn(func() { put("alone.txt", "x\n") })
	put("between.txt", "a person's\n")
	began, done := make(chan struct{}), make(chan struct{})
	c.agent.prompt = func(_ context.Context, turn agent.Turn) error {
		if turn.Message.Text == "slow" {
			close(began)
			<-done
		} else {
			put("both.txt", "b\n")
		}
		return nil
	}
	slow, quick := started("slow"), started("quick")
	c.dispatch(c.chat(), slow)
	<-began
	put("during.txt", "who knows\n")
	c.dispatch(chat, quick)
	ended := func(chat ahp.URI, turn string) func() bool {
		return func() bool {
			s, ok := hub.StateOf[*ahp.ChatState](c.hub, chat)
			return ok && core.HasTurn(s, turn) && s.ActiveTurn == nil
		}
	}
	c.until("the quick turn ends", ended(chat, quick.TurnID))
	close(done)
	c.until("the slow turn ends", ended(c.chat(), slow.TurnID))
	put("after.txt", "a person's\n")
	file := func(name string) string { return "A " + core.FileURI(filepath.Join(two, name)) + " +1 −0" }
	c.shows(c.follow("turn", alone), file("alone.txt"))
	c.shows(c.follow("turn", quick.TurnID), file("both.txt")+" overlap")
	c.shows(c.follow("turn", slow.TurnID), file("both.txt")+" overlap; "+file("during.txt")+" overlap")
}
