package host

import (
	"context"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// snapshotFor subscribes as a new client.
func snapshotFor[S ahp.State](w *world, id string, uri ahp.URI) S {
	w.t.Helper()
	c := w.connect(owner, id)
	c.subscribe(uri)
	c.mu.Lock()
	follows := c.mirror.Follows(uri)
	c.mu.Unlock()
	if !follows {
		w.t.Fatalf("there is no snapshot of %s", uri)
	}
	return mirrored[S](c, uri)
}

// A snapshot is correct when it is made, also in fields that no action changes (AHP requirement
// 159).
func TestSnapshotCountsThreads(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		counts := func(id string) (threads, entries int64) {
			a := snapshotFor[*ahp.SessionState](w, id, session).Annotations
			if a == nil || a.Resource != notes {
				t.Fatalf("the snapshot advertises %+v", a)
			}
			return a.AnnotationCount, a.EntryCount
		}
		if threads, entries := counts("before"); threads != 0 || entries != 0 {
			t.Errorf("before the first thread: %d threads with %d entries", threads, entries)
		}
		c.do(notes, thread("a", comment("e1", "why?"), comment("e2", "really?")))
		c.do(notes, thread("b", comment("e3", "how?")))
		if threads, entries := counts("after"); threads != 2 || entries != 3 {
			t.Errorf("with two threads: %d threads with %d entries", threads, entries)
		}
		c.do(notes, &ahp.AnnotationsRemovedAction{AnnotationID: "a"})
		if threads, entries := counts("again"); threads != 1 || entries != 1 {
			t.Errorf("with one thread: %d threads with %d entries", threads, entries)
		}
	})
}

// The counts are known although the threads are not loaded.
func TestSnapshotCountsThreadsAfterRestart(t *testing.T) { // AHP requirement 159
	dir, f := t.TempDir(), &fake{}
	before := newLife(t, dir, f, core.Limits{})
	before.start("hi")
	before.do(notes, thread("a", comment("e1", "why?"), comment("e2", "really?")))
	before.end(true)

	l := newLife(t, dir, f, core.Limits{})
	conn, err := l.hub.Connect(hub.ConnConfig{Principal: owner.ID, ClientID: "ana-1", Audience: owner.Audience()})
	l.must(err)
	defer conn.Close(nil)
	l.must(l.host.Prepare(t.Context(), core.Caller{Principal: owner, ClientID: "ana-1", Conn: conn}, session))
	if _, _, awake := l.hub.State(notes); awake {
		t.Fatal("the threads are in memory")
	}
	conn.Subscribe("", hub.Subscription{URI: session})
	items, err := conn.Next(t.Context(), nil)
	l.must(err)
	s, ok := items[0].Snapshots[0].State.(*ahp.SessionState)
	if !ok || s.Annotations == nil || s.Annotations.AnnotationCount != 1 || s.Annotations.EntryCount != 2 {
		t.Errorf("the snapshot is %+v with %+v", s, s.Annotations)
	}
}

func TestSnapshotHasTheStatusOfItsChats(t *testing.T) { // AHP requirement 73
	inWorld(t, func(w *world) {
		commands(w, ahp.ChatToolCallReadyAction{})
		c := w.create()
		status := func(id string) ahp.SessionStatus {
			return snapshotFor[*ahp.SessionState](w, id, session).Status.Activity()
		}
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("make")})
		if got := status("waits"); got != ahp.SessionStatusInputNeeded {
			t.Errorf("a session that waits has the status %d", got)
		}
		c.do(w.chat(), w.approval("t", true))
		if got := status("ended"); got != ahp.SessionStatusIdle {
			t.Errorf("a session whose turn has ended has the status %d", got)
		}
	})
}

func TestSnapshotOfChatHasItsChanges(t *testing.T) { // AHP requirement 86
	inWorld(t, func(w *world) {
		w.create()
		chat := w.chat()
		changes := &ahp.ChangesSummary{Additions: ahp.Ptr(int64(3)), Files: ahp.Ptr(int64(1))}
		w.must(w.host.core.Do(w.t.Context(), func(tx *hub.Tx) {
			tx.Apply(session, &ahp.SessionChatUpdatedAction{Chat: chat,
				Changes: ahp.PartialChatSummary{Changes: changes}})
		}))
		if got := snapshotFor[*ahp.ChatState](w, "new", w.chat()).Changes; got == nil || *got.Additions != 3 {
			t.Errorf("the chat's snapshot has the changes %+v", got)
		}
	})
}

func TestProjectFollowsFirstDirectory(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		elsewhere := core.FileURI(t.TempDir())
		w.must(w.host.core.Do(w.t.Context(), func(tx *hub.Tx) {
			tx.Apply(session, &ahp.SessionWorkingDirectoryReplacedAction{Directory: core.FileURI(w.dir),
				Replacement: elsewhere})
		}))
		if got := snapshotFor[*ahp.SessionState](w, "new", session).Project; got == nil || got.URI != elsewhere {
			t.Errorf("the snapshot's project is %+v, the directory %s", got, elsewhere)
		}
		if sum, _ := w.host.Summary(session); sum.Project == nil || sum.Project.URI != elsewhere {
			t.Errorf("the list's project is %+v", sum.Project)
		}
	})
}

// A guest of a chat sees the number of threads about it, whether or not they are loaded, and of no
// others.
func TestSnapshotCountsThreadsOfAPart(t *testing.T) { // AHP requirement 159
	dir, f := t.TempDir(), &fake{}
	before := newLife(t, dir, f, core.Limits{})
	before.start("hi")
	before.until("the turn has ended", func() bool { return len(before.chat().Turns) == 1 })
	chat := before.chat().Resource
	about := thread("a", comment("e1", "why?"), comment("e2", "really?"))
	about.Annotation.Origin = ahp.AnnotationOrigin{Session: session, Chat: chat, TurnID: before.chat().Turns[0].ID}
	before.do(notes, about)
	before.do(notes, thread("b", comment("e3", "of the session alone")))
	before.end(true)

	l := newLife(t, dir, f, core.Limits{})
	if _, _, awake := l.hub.State(notes); awake {
		t.Fatal("the threads are in memory")
	}
	for _, c := range []struct {
		name             string
		scope            access.Scope
		threads, entries int64
	}{
		{"its chat", access.Scope{Kind: ahp.ChannelChat, URI: chat}, 1, 2},
		{"another chat", access.Scope{Kind: ahp.ChannelChat, URI: "ahp-chat:/other"}, 0, 0},
		{"the whole session", access.Scope{}, 2, 3},
	} {
		guest := l.guestOf(c.scope)
		conn, err := l.hub.Connect(hub.ConnConfig{Principal: guest.ID, ClientID: c.name, Audience: guest.Audience()})
		l.must(err)
		l.must(l.host.Prepare(t.Context(), core.Caller{Principal: guest, ClientID: c.name, Conn: conn}, session))
		conn.Subscribe("", hub.Subscription{URI: session})
		items, err := conn.Next(t.Context(), nil)
		l.must(err)
		s, ok := items[0].Snapshots[0].State.(*ahp.SessionState)
		if !ok || s.Annotations == nil || s.Annotations.AnnotationCount != c.threads ||
			s.Annotations.EntryCount != c.entries {
			t.Errorf("a guest of %s is told of %+v, want %d threads with %d comments", c.name, s, c.threads, c.entries)
		}
		conn.Close(nil)
	}
}

// guestOf returns the guest of a link to a part of the session.
func (l *life) guestOf(scope access.Scope) access.Principal {
	l.t.Helper()
	links, err := access.OpenLinks(l.t.Context(), noDocuments{})
	l.must(err)
	links.SetWorld(l.hub)
	token, _, err := links.New(l.t.Context(), access.Link{Session: session, Scope: scope, Role: access.RoleCommenter,
		CreatedBy: owner.ID})
	l.must(err)
	guest, err := links.Redeem(l.t.Context(), token, "Ben")
	l.must(err)
	return guest
}

// noDocuments is a document store that stores nothing.
type noDocuments struct{}

func (noDocuments) Put(context.Context, string, string, []byte) error { return nil }

func (noDocuments) Delete(context.Context, string, string) error { return nil }

func (noDocuments) Each(context.Context, string, func(string, []byte) error) error { return nil }
