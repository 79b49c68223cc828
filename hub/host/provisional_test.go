package host

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// inLazyWorld is inWorld, and counts how often the agent is opened.
func inLazyWorld(t *testing.T, f func(w *world, opened *atomic.Int32)) {
	t.Helper()
	inWorld(t, func(w *world) {
		var opened atomic.Int32
		w.agent.open = func(context.Context, agent.Spec) error { opened.Add(1); return nil }
		f(w, &opened)
	})
}

func (w *world) isListed() bool {
	return slices.ContainsFunc(w.host.Listed(core.Caller{Principal: owner}),
		func(s ahp.SessionSummary) bool { return s.Resource == session })
}

func (w *world) exists() bool { _, ok := w.host.Summary(session); return ok }

// pass advances the time and waits for what is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// A session that a client creates and never uses starts no agent and is not listed on pages. It is
// removed ten minutes after its client left, and does not go to the trash.
func TestUnusedSessionEndsWithItsClient(t *testing.T) {
	inLazyWorld(t, func(w *world, opened *atomic.Int32) {
		watcher := w.connect(owner, "watcher")
		watcher.subscribe(ahp.RootURI)
		c := w.createUnused()
		if w.session().Lifecycle != ahp.SessionLifecycleReady || opened.Load() != 0 || w.isListed() {
			t.Errorf("it is %s, its agent was opened %d times, and it is listed: %t", w.session().Lifecycle,
				opened.Load(), w.isListed())
		}
		pass(time.Hour)
		if !w.exists() {
			t.Fatal("it went while its client was there")
		}
		c.caller.Conn.Close(errors.New("the client left"))
		w.host.Disconnected(c.caller)
		pass(9 * time.Minute)
		if !w.exists() {
			t.Fatal("it went before ten minutes were over")
		}
		pass(3 * time.Minute)
		if w.exists() || len(w.host.Trash(core.Caller{Principal: owner})) != 0 || opened.Load() != 0 {
			t.Errorf("it is there: %t; in the trash: %v; opened: %d", w.exists(),
				w.host.Trash(core.Caller{Principal: owner}), opened.Load())
		}
		if news := watcher.news(); !slices.Contains(news, "root/sessionAdded") ||
			!slices.Contains(news, "root/sessionRemoved") {
			t.Errorf("clients were told %v", news)
		}
	})
}

func TestUnsubscribedSessionGoes(t *testing.T) {
	inLazyWorld(t, func(w *world, _ *atomic.Int32) {
		c := w.createUnused()
		for _, uri := range []ahp.URI{w.chat(), core.AnnotationsURI(session), session} {
			c.caller.Conn.Unsubscribe(uri)
			w.host.Unsubscribed(c.caller, uri)
		}
		pass(12 * time.Minute)
		if w.exists() {
			t.Error("it stays although its client has left it")
		}
	})
}

// Content that a person adds to a session keeps it; content that they remove does not.
func TestUsedSessionStays(t *testing.T) {
	draft := func(text string) *ahp.ChatDraftChangedAction {
		if text == "" {
			return &ahp.ChatDraftChangedAction{}
		}
		return &ahp.ChatDraftChangedAction{Draft: &ahp.Message{Text: text,
			Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}
	}
	thread := &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: "t", Resource: "file:///a",
		Origin:  ahp.AnnotationOrigin{Session: session},
		Entries: []ahp.AnnotationEntry{{ID: "e", Text: ahp.Markdown("Why?")}}}}
	for name, test := range map[string]struct {
		use    func(w *world, c *client)
		stays  bool
		opened int32
	}{
		"a turn":  {func(_ *world, c *client) { c.say("hello") }, true, 1},
		"a draft": {func(w *world, c *client) { c.do(w.chat(), draft("hel")) }, true, 1},
		"a title": {func(_ *world, c *client) { c.do(session, &ahp.SessionTitleChangedAction{Title: "Mine"}) },
			true, 1},
		"a thread": {func(_ *world, c *client) { c.do(core.AnnotationsURI(session), thread) }, true, 1},
		"a link":   {func(w *world, _ *client) { w.must(w.host.Keep(session)) }, true, 1},
		"a past draft": {func(w *world, c *client) { c.do(w.chat(), draft("hel")); c.do(w.chat(), draft("")) }, false,
			1},
	} {
		t.Run(name, func(t *testing.T) {
			inLazyWorld(t, func(w *world, opened *atomic.Int32) {
				c := w.createUnused()
				test.use(w, c)
				synctest.Wait()
				if w.isListed() != test.stays {
					t.Errorf("it is listed: %t", !test.stays)
				}
				c.caller.Conn.Close(errors.New("the client left"))
				w.host.Disconnected(c.caller)
				pass(30 * time.Minute)
				if w.exists() != test.stays || opened.Load() != test.opened {
					t.Errorf("it is there: %t, its agent was opened %d times, want %t and %d", w.exists(),
						opened.Load(), test.stays, test.opened)
				}
			})
		})
	}
}

// After a restart, the ten minutes start again, and the agent is still not opened.
func TestUnusedSessionSurvivesRestart(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	var opened atomic.Int32
	f := &fake{open: func(context.Context, agent.Spec) error { opened.Add(1); return nil }}
	one := newLife(t, dir, f, core.Limits{})
	one.must(one.host.CreateSession(t.Context(), core.Caller{Principal: owner},
		ahp.CreateSessionParams{Channel: session}))
	one.until("ready", func() bool {
		return one.host.core.Catalogue.Get(
			session).Lifecycle == ahp.SessionLifecycleReady
	})
	one.host.provisional.sweepProvisional(t.Context(), now)
	one.until("durable", func() bool { return one.hub.Stats().UnjournaledBytes == 0 })
	one.end(false)

	two := newLife(t, dir, f, core.Limits{})
	for _, step := range []struct {
		after time.Duration
		stays bool
	}{{9 * time.Minute, true}, {18 * time.Minute, true}, {19 * time.Minute, false}} {
		two.host.provisional.sweepProvisional(t.Context(), now.Add(step.after))
		if _, there := two.host.Summary(session); there != step.stays {
			t.Errorf("%v after its client left it is there: %t", step.after, there)
		}
	}
	two.until("durable", func() bool { return two.hub.Stats().UnjournaledBytes == 0 })
	two.end(false)
	if three := newLife(t, dir, f, core.Limits{}); three.host.core.Catalogue.Get(session) != nil || opened.Load() != 0 {
		t.Errorf("after another restart it is back, or its agent was opened %d times", opened.Load())
	}
}
