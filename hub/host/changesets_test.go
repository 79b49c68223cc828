package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestTurnChanges(t *testing.T) {
	c := newChanging(t)
	c.write("mine.txt", "written before the turn\n")
	first := c.turn(func() { c.write("a.txt", "one\n2\nthree\n"); c.write("new.txt", "new\n") })
	second := c.turn(func() { c.write("new.txt", "newer\n") })
	c.turn(func() {})
	c.write("a.txt", "a person's edit\n")

	uri := c.follow("turn", first)
	c.shows(uri, "M a.txt +2 −1; A new.txt +1 −0")
	f := c.changes(uri).Files[0]
	if before, after := c.blob(f.Edit.Before.Content), c.blob(f.Edit.After.Content); before != "one\ntwo\n" ||
		after != "one\n2\nthree\n" {
		t.Errorf("the versions are %q and %q", before, after)
	}
	if *f.Edit.Before.Content.SizeHint != 8 || f.Edit.After.Content.ContentType != "text/plain" {
		t.Errorf("the contents are %+v", f.Edit)
	}
	c.shows(c.follow("turn", second), "M new.txt +1 −1")
	if add, del, files, ok := c.host.Changes.TurnTotals(t.Context(), session, first); !ok || add != 3 || del != 1 ||
		files != 2 {
		t.Errorf("the first turn's totals are +%d −%d in %d, %v", add, del, files, ok)
	}
	var noted struct{ Changes ahp.ChangesSummary }
	if err := json.Unmarshal(c.chatState().Turns[0].Usage.Meta["ahphub"], &noted); err != nil ||
		*noted.Changes.Files != 2 {
		t.Errorf("the turn says %+v, %v", noted, err)
	}
	if c.chatState().Turns[2].Usage != nil {
		t.Error("a turn that changed nothing has totals")
	}
	sum, _ := c.host.Summary(session)
	if sum.Changes == nil || *sum.Changes.Additions != 3 || *sum.Changes.Files != 2 {
		t.Errorf("the session's summary says %+v", sum.Changes)
	}
	c.shows(c.follow("session", ""), "M a.txt +1 −2; A new.txt +1 −0")
	c.shows(c.follow("uncommitted", ""), "M a.txt +1 −2; A mine.txt +1 −0; A new.txt +1 −0")
}

// While a turn runs, its own edits are not marked as outside, but earlier edits by others stay
// marked.
func TestEditsOfRunningTurnAreItsOwn(t *testing.T) {
	c := newChanging(t)
	all := c.follow("session", "")
	c.write("mine.txt", "mine\n")
	c.shows(all, "A mine.txt +1 −0 outside")
	seen := make(chan struct{})
	c.agent.prompt = func(context.Context, agent.Turn) error {
		c.write("a.txt", "one\ntwo\nthree\n")
		<-seen
		return nil
	}
	c.dispatch(c.chat(), started("go"))
	c.shows(all, "A mine.txt +1 −0 outside; M a.txt +1 −0")
	close(seen)
	c.until("the turn ends", func() bool { return c.chatState().ActiveTurn == nil })
	c.shows(all, "A mine.txt +1 −0 outside; M a.txt +1 −0")
}

func TestChangesetKeepsUpWithFiles(t *testing.T) { // AHP requirement 153

	c := newChanging(t)
	uri := c.follow("uncommitted", "")
	all := c.follow("session", "")
	c.shows(uri, "")
	c.write("a.txt", "one\ntwo\nthree\n")
	c.shows(uri, "M a.txt +1 −0")
	c.shows(all, "M a.txt +1 −0 outside")
	if err := os.MkdirAll(filepath.Join(c.dir, "deep/er"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.write("deep/er/x", "x\n")
	c.shows(uri, "M a.txt +1 −0; A deep/er/x +1 −0")
	c.write("deep/er/x", "x\ny\n")
	c.shows(uri, "M a.txt +1 −0; A deep/er/x +2 −0")
	c.write("a.txt", "one\ntwo\n")
	c.shows(uri, "A deep/er/x +2 −0")
	c.git("add", "-A")
	c.git("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "commit", "-qm", "second")
	c.shows(uri, "")
	sum, _ := c.host.Summary(session)
	if sum.Changes == nil || *sum.Changes.Additions != 2 {
		t.Errorf("the session's summary says %+v", sum.Changes)
	}
}

func TestNarrowActions(t *testing.T) { // AHP requirement 154

	c := newChanging(t)
	conn, err := c.hub.Connect(hub.ConnConfig{Principal: owner.ID, ClientID: "ana-2", Audience: owner.Audience()})
	c.must(err)
	defer conn.Close(errors.New("the test is over"))
	c.write("b.txt", "b\n")
	uri := c.follow("uncommitted", "")
	c.watched()
	conn.Subscribe(nil, hub.Subscription{URI: uri})
	c.replace("a.txt", "one\n")
	c.shows(uri, "A b.txt +1 −0; M a.txt +0 −1")
	if err := os.Remove(filepath.Join(c.dir, "b.txt")); err != nil {
		t.Fatal(err)
	}
	c.shows(uri, "M a.txt +0 −1")
	var got []string
	for len(got) < 6 {
		items, err := conn.Next(t.Context(), nil)
		c.must(err)
		for _, it := range items {
			if it.Env != nil && it.Env.Channel.URI == uri {
				got = append(got, it.Env.Action.ActionType())
			}
		}
	}
	if d := cmp.Diff([]string{"changeset/statusChanged", "changeset/fileSet", "changeset/statusChanged",
		"changeset/statusChanged", "changeset/fileRemoved", "changeset/statusChanged"}, got); d != "" {
		t.Error(d)
	}
}

func TestReviewMarksFollowContent(t *testing.T) { // AHP requirement 158

	c := newChanging(t)
	c.write("a.txt", "one\nTWO\n")
	c.write("b.txt", "b\n")
	uri := c.follow("uncommitted", "")
	c.dispatch(uri, &ahp.ChangesetFilesReviewChangedAction{Files: []string{core.FileURI(filepath.Join(c.dir, "a.txt"))},
		Reviewed: true})
	c.shows(uri, "M a.txt +1 −1 reviewed by Ana; A b.txt +1 −0")
	c.write("b.txt", "b\nc\n")
	c.shows(uri, "M a.txt +1 −1 reviewed by Ana; A b.txt +2 −0")
	c.write("a.txt", "one\nTWO\nthree\n")
	c.shows(uri, "M a.txt +2 −1 stale; A b.txt +2 −0")
	seen := changes.ReadFileNote(c.changes(uri).Files[0].Meta).Seen
	if seen == nil || c.blob(ahp.ContentRef{URI: seen.Before}) != "one\ntwo\n" ||
		c.blob(ahp.ContentRef{URI: seen.After}) != "one\nTWO\n" {
		t.Errorf("what was reviewed is not to be had any more: %+v", seen)
	}
	c.write("a.txt", "one\nTWO\n")
	c.shows(uri, "M a.txt +1 −1 reviewed by Ana; A b.txt +2 −0")
	c.dispatch(uri, &ahp.ChangesetFilesReviewChangedAction{Files: []string{core.FileURI(filepath.Join(c.dir, "a.txt"))},
		Reviewed: false})
	c.shows(uri, "M a.txt +1 −1; A b.txt +2 −0")
}

func TestRevertOperation(t *testing.T) { // AHP requirements 155 and 156

	c := newChanging(t)
	turn := c.turn(func() { c.write("a.txt", "one\n2\n"); c.write("new.txt", "new\n") })
	uri := c.follow("turn", turn)
	invoke := func(who core.Caller, op string, target ahp.ChangesetOperationTargetValue) error {
		p := ahp.InvokeChangesetOperationParams{Channel: uri, OperationID: op}
		if target != nil {
			p.Target = &ahp.ChangesetOperationTarget{Value: target}
		}
		_, err := c.host.Changes.InvokeOperation(t.Context(), who, p)
		return err
	}
	file := func(name string) *ahp.ChangesetOperationResourceTarget {
		return &ahp.ChangesetOperationResourceTarget{Resource: core.FileURI(filepath.Join(c.dir, name))}
	}
	for name, bad := range map[string]struct {
		who    core.Caller
		op     string
		target ahp.ChangesetOperationTargetValue
		code   int
	}{
		"unknown operation": {c.owner, "explode", nil, ahp.CodeInvalidParams},
		"not offered here":  {c.owner, "commit", nil, ahp.CodeInvalidParams},
		"file not changed":  {c.owner, "revert", file("other.txt"), ahp.CodeInvalidParams},
		"a guest":           {core.Caller{Principal: viewer}, "revert", nil, ahp.CodePermissionDenied},
	} {
		if err := invoke(bad.who, bad.op, bad.target); code(err) != bad.code {
			t.Errorf("%s: got %v, want code %d", name, err, bad.code)
		}
	}
	c.must(invoke(c.owner, "revert", file("new.txt")))
	if c.read("new.txt") != "(none)" || c.read("a.txt") != "one\n2\n" {
		t.Errorf("reverting one file left %q and %q", c.read("new.txt"), c.read("a.txt"))
	}
	c.write("a.txt", "one\nsomething else\n")
	if err := invoke(c.owner, "revert", nil); code(err) != ahp.CodeConflict ||
		c.read("a.txt") != "one\nsomething else\n" {
		t.Errorf("a revert that does not apply: %v, the file is %q", err, c.read("a.txt"))
	}
	if op := c.changes(uri).Operations[0]; op.Status != ahp.ChangesetOperationStatusError || op.Error == nil {
		t.Errorf("the operation's status is %+v", op)
	}
	c.write("a.txt", "one\n2\n")
	c.must(invoke(c.owner, "revert", nil))
	if got := c.read("a.txt"); got != "one\ntwo\n" {
		t.Errorf("reverting left %q", got)
	}
}

func TestDisposedSessionHasNoChangesets(t *testing.T) { // AHP requirement 157

	c := newChanging(t)
	turn := c.turn(func() { c.write("a.txt", "x\n") })
	uris := []ahp.URI{c.follow("session", ""), c.follow("turn", turn)}
	follower, err := c.hub.Connect(hub.ConnConfig{Principal: owner.ID, ClientID: "ana-2"})
	c.must(err)
	follower.Subscribe("all", hub.Subscription{URI: uris[0]}, hub.Subscription{URI: uris[1]})
	c.must(c.host.DisposeSession(t.Context(), c.owner, ahp.DisposeSessionParams{Channel: session}))
	cleared := map[ahp.URI]bool{}
	for len(cleared) < len(uris) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		items, err := follower.Next(ctx, nil)
		cancel()
		if err != nil {
			t.Fatalf("followers were told of the end of %v alone: %v", cleared, err)
		}
		for _, it := range items {
			if it.Env != nil && it.Env.Action.ActionType() == "changeset/cleared" {
				cleared[it.Env.Channel.URI] = true
			}
		}
	}
	for _, uri := range uris {
		if _, open := c.hub.Info(uri); open {
			t.Errorf("%s is open still", uri)
		}
		if err := c.host.Prepare(t.Context(), c.owner, uri); code(err) != ahp.CodeNotFound {
			t.Errorf("%s: got %v", uri, err)
		}
	}
	c.must(c.host.RestoreSession(t.Context(), c.owner, session))
	c.shows(c.follow("turn", turn), "M a.txt +1 −2")
}

// The changesets of the branch and of two compared turns are offered, kept up to date, and closed
// with the session.
func TestBranchAndTurnsCompared(t *testing.T) { // AHP requirement 152

	c := newChanging(t)
	c.git("branch", "-M", "main")
	c.git("checkout", "-q", "-b", "feature")
	one := c.turn(func() { c.write("a.txt", "one\ntwo\nthree\n") })
	two := c.turn(func() { c.write("b.txt", "b\n"); c.write("a.txt", "one\n") })
	c.turn(func() { c.write("c.txt", "c\n") })
	branch := c.follow("branch", "")
	c.shows(branch, "M a.txt +0 −1; A b.txt +1 −0; A c.txt +1 −0")
	c.git("add", "b.txt")
	c.git("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "commit", "-qm", "b")
	c.write("d.txt", "d\n")
	c.shows(branch, "M a.txt +0 −1; A b.txt +1 −0; A c.txt +1 −0; A d.txt +1 −0")
	compare := func(from, to string) ahp.URI {
		uri := changes.CompareURI(session, from, to)
		c.must(c.host.Prepare(t.Context(), c.owner, uri))
		c.until(uri+" is computed", func() bool { return c.changes(uri).Status == ahp.ChangesetStatusReady })
		return uri
	}
	c.shows(compare(one, two), "M a.txt +0 −2; A b.txt +1 −0")
	patch, err := c.host.Changes.Patch(t.Context(), c.owner, changes.CompareURI(session, one, two))
	if err != nil || !strings.Contains(string(patch), "+++ b/b.txt") || !strings.Contains(string(patch), "-three") ||
		strings.Contains(string(patch), "c.txt") {
		t.Errorf("the patch of two turns: %v\n%s", err, patch)
	}
	stranger := core.Caller{Principal: access.Principal{ID: "guest:eve", Role: access.RoleViewer,
		Session: "ahp-session:/other"}}
	if _, err := c.host.Changes.Patch(t.Context(), stranger, branch); code(err) != ahp.CodeNotFound {
		t.Errorf("a guest of another session has the patch: %v", err)
	}
	back := compare(two, one)
	c.shows(back, "M a.txt +2 −0; D b.txt +0 −1")
	kinds := ""
	for _, offered := range c.session().Changesets {
		kinds += offered.ChangeKind + " "
	}
	if kinds != "session uncommitted branch turn compare-turns " {
		t.Errorf("the session offers %s", kinds)
	}
	c.must(c.host.DisposeSession(t.Context(), c.owner, ahp.DisposeSessionParams{Channel: session}))
	if _, open := c.hub.Info(back); open {
		t.Error("a comparison outlives its session")
	}
}

func TestUnknownChangesets(t *testing.T) {
	c := newChanging(t)
	stranger := core.Caller{Principal: access.Principal{ID: "guest:eve", Role: access.RoleViewer,
		Session: "ahp-session:/other"}}
	for _, uri := range []ahp.URI{"ahp-changeset:/", "ahp-changeset:/" + core.ShortID(session),
		changes.URI(session, "branch-of-mine", ""),
		changes.URI(session, "session", "") + "/more", changes.URI(session, "turn", "none"), changes.CompareURI(session,
			"none", "none"), changes.URI(session, "compare", "") + "/x", "ahp-changeset:/000000000000/session"} {
		if err := c.host.Prepare(t.Context(), c.owner, uri); code(err) != ahp.CodeNotFound {
			t.Errorf("%s: got %v", uri, err)
		}
	}
	if err := c.host.Prepare(t.Context(), stranger, changes.URI(session, "session", "")); code(
		err) != ahp.CodeNotFound {
		t.Errorf("a guest of another session: %v", err)
	}
	uri := c.follow("uncommitted", "")
	c.write("a.txt", "x\n")
	c.shows(uri, "M a.txt +1 −2")
	ref := c.changes(uri).Files[0].Edit.Before.Content.URI
	if _, err := c.host.Files.ResourceRead(t.Context(), stranger, ahp.ResourceReadParams{URI: ref}); code(
		err) != ahp.CodeNotFound {
		t.Errorf("a guest of another session reads a version: %v", err)
	}
	if _, err := c.host.Files.ResourceRead(t.Context(), core.Caller{Principal: viewer},
		ahp.ResourceReadParams{URI: ref}); err != nil {
		t.Errorf("a guest of this session may not read a version: %v", err)
	}
	if _, err := c.host.Files.ResourceRead(t.Context(), stranger,
		ahp.ResourceReadParams{URI: core.FileURI(filepath.Join(c.dir, "a.txt"))}); code(
		err) != ahp.CodePermissionDenied {
		t.Errorf("a guest of another session reads a file: %v", err)
	}
}

func TestAddedDirectoryBeginsAtItsOwnCheckpoint(t *testing.T) {
	c := newChanging(t)
	c.turn(func() { c.write("a.txt", "x\n") })
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "was.txt"), []byte("was\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(c.hub.Do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionWorkingDirectorySetAction{Directory: core.FileURI(other)})
	}))
	c.turn(func() { c.must(os.WriteFile(filepath.Join(other, "new.txt"), []byte("new\n"), 0o600)) })
	c.shows(c.follow("session", ""), "M a.txt +1 −2; A "+core.FileURI(filepath.Join(other, "new.txt"))+" +1 −0")
}

func TestFailureIsShownAndMended(t *testing.T) {
	c := newChanging(t)
	uri := c.follow("uncommitted", "")
	away := c.dir + "-away"
	if err := os.Rename(c.dir, away); err != nil {
		t.Fatal(err)
	}
	c.host.Changes.Refresh(session)
	c.until("the error is shown", func() bool {
		return c.changes(uri).Status == ahp.ChangesetStatusError &&
			c.changes(uri).Error != nil
	})
	if err := os.Rename(away, c.dir); err != nil {
		t.Fatal(err)
	}
	c.host.Changes.Refresh(session)
	c.until("it is mended", func() bool {
		return c.changes(uri).Status == ahp.ChangesetStatusReady &&
			c.changes(uri).Error == nil
	})
}
