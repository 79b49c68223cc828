package host

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/review"
)

// opinions returns the verdicts of the session in one line.
func (w *world) opinions() string {
	var out []string
	for _, v := range w.host.Threads.Review(session).Verdicts {
		s := v.By.Name + " " + string(v.Kind)
		if v.Overtaken {
			s += " overtaken"
		}
		out = append(out, strings.TrimSpace(s+" "+string(v.End)))
	}
	return strings.Join(out, ", ")
}

func as(p access.Principal) core.Caller { return core.Caller{Principal: p, ClientID: "page:" + p.ID} }

func (c *changing) give(p access.Principal, k review.Kind, summary string) {
	c.t.Helper()
	c.must(c.host.Threads.GiveVerdict(c.t.Context(), as(p), session, threads.GivenVerdict{Kind: k, Summary: summary}))
}

// An approval applies to the changes at the time. When an agent or a person makes further changes,
// the host withdraws it. A request for changes stands and is marked as overtaken.
func TestVerdictsAreWithdrawnWhenChangesGoOn(t *testing.T) {
	c := newChanging(t)
	c.turn(func() { c.write("a.txt", "one\nTWO\n") })
	c.give(commenter, review.Approve, "")
	c.give(other, review.RequestChanges, "the first line, too")
	c.give(owner, review.Comment, "hm")
	told, stop := c.host.Threads.WatchReview(session)
	defer stop()
	c.turn(func() {})
	if got := c.opinions(); got != "Ben approve, Cleo changes, Ana comment" {
		t.Fatalf("after a turn that changed nothing: %s", got)
	}
	c.turn(func() { c.write("a.txt", "ONE\nTWO\n"); c.write("b.txt", "new\n") })
	c.until("the approval is withdrawn", func() bool {
		return c.opinions() == "Ben approve withdrawn, Cleo changes overtaken, Ana comment"
	})
	<-told
	if v := c.host.Threads.Review(session).Verdicts[0]; v.EndBy != nil || v.EndAt.IsZero() {
		t.Errorf("it was withdrawn by %v at %v", v.EndBy, v.EndAt)
	}

	c.give(commenter, review.Approve, "now")
	c.follow("session", "")
	c.write("c.txt", "by hand\n")
	c.until("a change by hand is seen", func() bool { return strings.HasSuffix(c.opinions(), "Ben approve withdrawn") })
}

func TestWhoMayGiveVerdicts(t *testing.T) {
	c := newChanging(t)
	c.turn(func() { c.write("a.txt", "one\nTWO\n") })
	uri := c.follow("session", "")
	seen := changes.ReviewDigest(c.changes(uri).Files)
	for name, tc := range map[string]struct {
		who   access.Principal
		given threads.GivenVerdict
		says  string
	}{
		"a viewer": {viewer, threads.GivenVerdict{Kind: review.Approve}, "can't submit a review"},
		"an agent": {access.Agent("fake", "Fake", session), threads.GivenVerdict{Kind: review.Approve},
			"can't submit a review"},
		"somebody from outside": {access.Principal{ID: "guest:x", Name: "X", Role: access.RoleCommenter,
			Session: "ahp-session:/two"}, threads.GivenVerdict{Kind: review.Approve}, "there is no session"},
		"of no kind":             {commenter, threads.GivenVerdict{Kind: "maybe", Summary: "x"}, "choose approve"},
		"changes without a word": {commenter, threads.GivenVerdict{Kind: review.RequestChanges}, "write a summary"},
		"too long": {commenter, threads.GivenVerdict{Kind: review.Comment, Summary: strings.Repeat("x",
			9<<10)}, "too long"},
		"approves what is gone": {commenter, threads.GivenVerdict{Kind: review.Approve, Seen: "other"}, "Look again"},
	} {
		if err := c.host.Threads.GiveVerdict(t.Context(), as(tc.who), session, tc.given); err == nil ||
			!strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, wanted %q", name, err, tc.says)
		}
	}
	c.must(c.host.Threads.GiveVerdict(t.Context(), as(commenter), session, threads.GivenVerdict{Kind: review.Approve,
		Seen: seen}))
	if err := c.host.Threads.DismissVerdict(t.Context(), as(other), session, commenter.ID); err == nil ||
		!strings.Contains(err.Error(), "only the owner") {
		t.Errorf("another's verdict was dismissed: %v", err)
	}
	c.must(c.host.Threads.DismissVerdict(t.Context(), as(commenter), session, ""))
	c.give(commenter, review.Approve, "again")
	c.must(c.host.Threads.DismissVerdict(t.Context(), c.owner, session, commenter.ID))
	if err := c.host.Threads.DismissVerdict(t.Context(), as(commenter), session,
		""); code(err) != ahp.CodeInvalidParams {
		t.Errorf("dismissing nothing: %v", err)
	}
	if got := c.opinions(); got != "Ben approve dismissed, Ben approve dismissed" {
		t.Error(got)
	}
}

// Mentioned people see a mention until they have read the thread. People cannot mention themselves,
// or people who never visited.
func TestMentions(t *testing.T) {
	inWorld(t, func(w *world) {
		c, ben := w.create(), w.connect(commenter, "ben-1")
		for _, p := range []core.Caller{c.caller, ben.caller, as(viewer)} {
			w.must(w.host.Prepare(w.t.Context(), p, session))
		}
		calls := func(p access.Principal) (out []string) {
			for _, m := range w.host.Threads.Review(session).MentionsOf(p.ID) {
				out = append(out, m.Thread+" by "+m.By.Name)
			}
			return out
		}
		ben.do(notes, thread("a", comment("1", "@ana, @Vic and @Ben: look. `@Ana` is code")))
		ben.do(notes, thread("b", comment("1", "nobody")))
		ben.do(notes, reply("b", comment("2", "but @Ana, and @Cleo who never came")))
		if got := strings.Join(calls(owner), ", ") + "; " + strings.Join(calls(viewer), ", ") + "; " +
			strings.Join(calls(commenter), ", "); got != "a by Ben, b by Ben; a by Ben; " {
			t.Errorf("called are %s", got)
		}
		ben.do(notes, reply("b", comment("2", "edited, still @Ana")))
		w.must(w.host.Threads.MarkMentionsRead(w.t.Context(), owner.ID, session, []string{"b"}))
		c.do(notes, &ahp.AnnotationsRemovedAction{AnnotationID: "a"})
		if n := len(w.host.Threads.Review(session).Mentions); n != 0 {
			t.Errorf("%d calls are left over of what was read or is gone", n)
		}
		ben.refused(notes, thread("c", comment("1", "@Ana"), comment("1", "twice")), "two comments")
		if n := len(w.host.Threads.Review(session).Mentions); n != 0 {
			t.Error("a refused comment called somebody")
		}
	})
}

// Verdicts and mentions survive a restart, and a later withdrawal lists the changed files.
func TestVerdictsSurviveARestart(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	f := &fake{}
	life := newLife(t, data, f, core.Limits{})
	c := &changing{world: &world{t: t, hub: life.hub, host: life.host, agent: f, dir: dir}, owner: as(owner)}
	c.write("a.txt", "one\n")
	c.must(c.host.CreateSession(t.Context(), c.owner, ahp.CreateSessionParams{Channel: session,
		WorkingDirectories: []ahp.URI{core.FileURI(dir)}}))
	c.until("the session is ready", func() bool { return c.session().Lifecycle == ahp.SessionLifecycleReady })
	c.must(c.host.Prepare(t.Context(), c.owner, session))
	c.turn(func() { c.write("a.txt", "two\n") })
	c.give(commenter, review.Approve, "good")
	if o, err := c.host.Dispatch(t.Context(), as(commenter), notes, 0, thread("a", comment("1", "@Ana"))); err != nil ||
		o.Rejected != "" {
		t.Fatalf("%+v %v", o, err)
	}
	life.end(true)

	life = newLife(t, data, f, core.Limits{})
	c = &changing{world: &world{t: t, hub: life.hub, host: life.host, agent: f, dir: dir}, owner: as(owner)}
	if got := c.opinions(); got != "Ben approve" || len(c.host.Threads.Review(session).MentionsOf(owner.ID)) != 1 {
		t.Fatalf("after the restart: %s, %+v", got, c.host.Threads.Review(session).Mentions)
	}
	c.must(c.host.Prepare(t.Context(), c.owner, c.defaultChat()))
	c.turn(func() { c.write("a.txt", "three\n"); c.write("b.txt", "new\n") })
	c.until("the approval is withdrawn", func() bool { return c.opinions() == "Ben approve withdrawn" })
	if v := c.host.Threads.Review(session).Verdicts[0]; strings.Join(v.Changed, " ") != core.FileURI(dir+"/a.txt")+" "+
		core.FileURI(dir+"/b.txt") {
		t.Errorf("it says that %v changed", v.Changed)
	}
}

// defaultChat returns the session's default chat, on a host that has just started.
func (c *changing) defaultChat() ahp.URI {
	c.t.Helper()
	c.must(c.host.Prepare(c.t.Context(), c.owner, session))
	return c.chat()
}
