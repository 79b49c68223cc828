package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/review"
)

const twelve = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"

// suggest comments on lines of a file like a page: with their version and text.
func (c *changing) suggest(p access.Principal, id, name string, from, to int, lines ...string) threads.SuggestionRef {
	c.t.Helper()
	all := review.Lines(c.read(name))
	uri := changes.URI(session, "session", "")
	var version ahp.URI
	for _, f := range c.changes(uri).Files {
		if f.Edit.After != nil && strings.HasSuffix(f.Edit.After.URI, "/"+name) {
			version = f.Edit.After.Content.URI
		}
	}
	own, err := json.Marshal(map[string]string{"side": "after", "hunk": strings.Join(all[from-1:to], "\n"),
		"version": version})
	c.must(err)
	a := ahp.Annotation{ID: id, Resource: core.FileURI(filepath.Join(c.dir, name)), Range: threads.LineRange(from, to),
		Entries: []ahp.AnnotationEntry{{ID: "1", Text: ahp.Markdown("better:\n" + review.Fence(lines)),
			Meta: ahp.Meta{core.MetaKey: own}}}}
	o, err := c.host.Dispatch(c.t.Context(), as(p), notes, 0, &ahp.AnnotationsSetAction{Annotation: a})
	if err != nil || o.Rejected != "" {
		c.t.Fatalf("%+v %v", o, err)
	}
	return threads.SuggestionRef{Thread: id, Entry: "1"}
}

// reviewing returns a session whose agent wrote a file of twelve lines.
func reviewing(t *testing.T) *changing { return reviewingWith(newChanging(t)) }

func reviewingWith(c *changing) *changing {
	c.turn(func() { c.write("n.txt", twelve) })
	c.follow("session", "")
	c.until("the file is shown", func() bool { return len(c.changes(changes.URI(session, "session", "")).Files) > 0 })
	return c
}

// busyTexts is a computer on which another program writes to a file after each read for an edit.
type busyTexts struct {
	machine.Machine
	write func()
}

func (b *busyTexts) Changes() machine.Changes { return changesOf{b.Machine.Changes(), b} }

type changesOf struct {
	machine.Changes
	busy *busyTexts
}

func (c changesOf) Texts(ctx context.Context, ws machine.Workspace, dirs, paths []string) ([]machine.Text, error) {
	texts, err := c.Changes.Texts(ctx, ws, dirs, paths)
	if c.busy.write != nil {
		c.busy.write()
	}
	return texts, err
}

func TestApplySuggestionWhileOthersWrite(t *testing.T) {
	data := t.TempDir()
	busy := &busyTexts{Machine: localtest.New(t, data)}
	c := reviewingWith(newChangingWith(t, Config{DataDir: data, Machine: busy}))
	ref := c.suggest(commenter, "one", "n.txt", 3, 3, "three")
	busy.write = func() { busy.write = nil; c.write("n.txt", "0\n"+twelve) }
	c.must(c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{ref}))
	if got := c.read("n.txt"); got != "0\n1\n2\nthree\n4\n5\n6\n7\n8\n9\n10\n11\n12\n" {
		t.Errorf("the file reads %q", got)
	}
	ref = c.suggest(commenter, "two", "n.txt", 6, 6, "five")
	n := 0
	busy.write = func() { n++; c.write("n.txt", strings.Repeat("more\n", n)+c.read("n.txt")) }
	err := c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{ref})
	if code(err) != ahp.CodeConflict || strings.Contains(c.read("n.txt"), "five") {
		t.Errorf("a file that is always written to was edited: %v", err)
	}
}

func TestApplySuggestions(t *testing.T) {
	c := reviewing(t)
	one := c.suggest(commenter, "one", "n.txt", 3, 4, "three", "and four")
	two := c.suggest(commenter, "two", "n.txt", 10, 10)
	c.write("n.txt", "0\n"+twelve) // the lines moved
	if err := c.host.Threads.ApplySuggestions(t.Context(), as(driver), session, []threads.SuggestionRef{one}); code(
		err) != ahp.CodePermissionDenied {
		t.Errorf("somebody applied who may not revert: %v", err)
	}
	c.must(c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{one, two}))
	if got := c.read("n.txt"); got != "0\n1\n2\nthree\nand four\n5\n6\n7\n8\n9\n11\n12\n" {
		t.Errorf("the file reads %q", got)
	}
	for _, a := range c.threads().Annotations {
		last := a.Entries[len(a.Entries)-1]
		if !a.Resolved || last.Text.Text != "Applied the suggestion." || threads.AuthorOf(last) != owner.ID {
			t.Errorf("thread %s is resolved %v, and says last %q by %s", a.ID, a.Resolved, last.Text.Text,
				threads.AuthorOf(last))
		}
	}
}

// A suggestion for changed lines changes nothing; of several suggestions, either all or none apply.
func TestSuggestionsOfOtherLinesChangeNothing(t *testing.T) {
	c := reviewing(t)
	fine := c.suggest(commenter, "fine", "n.txt", 1, 1, "one")
	gone := c.suggest(commenter, "gone", "n.txt", 5, 6, "five")
	over := c.suggest(commenter, "over", "n.txt", 1, 2, "one and two")
	same := c.suggest(commenter, "same", "n.txt", 8, 8, "8")
	now := strings.Replace(twelve, "6\n", "six\n", 1)
	c.write("n.txt", now)
	for name, tc := range map[string]struct {
		refs []threads.SuggestionRef
		says string
	}{
		"its lines changed":  {[]threads.SuggestionRef{gone}, "Apply it manually"},
		"one of two":         {[]threads.SuggestionRef{fine, gone}, "Apply it manually"},
		"the same lines":     {[]threads.SuggestionRef{fine, over}, "the same lines"},
		"reads so already":   {[]threads.SuggestionRef{same}, "already"},
		"no such comment":    {[]threads.SuggestionRef{{Thread: "fine", Entry: "9", N: 0}}, "deleted"},
		"no such thread":     {[]threads.SuggestionRef{{Thread: "nobody", Entry: "1", N: 0}}, "deleted"},
		"no such suggestion": {[]threads.SuggestionRef{{Thread: "fine", Entry: "1", N: 3}}, "edited"},
		"none":               {nil, "give 1 to"},
	} {
		err := c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, tc.refs)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, wanted %q", name, err, tc.says)
		}
		if got := c.read("n.txt"); got != now {
			t.Fatalf("%s: the file was changed to %q", name, got)
		}
	}
	for _, a := range c.threads().Annotations {
		if a.Resolved || len(a.Entries) != 1 {
			t.Errorf("thread %s says that it was applied", a.ID)
		}
	}
	if err := os.Remove(filepath.Join(c.dir, "n.txt")); err != nil {
		t.Fatal(err)
	}
	if err := c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{fine}); code(
		err) != ahp.CodeConflict {
		t.Errorf("into a deleted file: %v", err)
	}
}

// Suggestions replace the lines that people see as the old ones: a client cannot quote others.
func TestSuggestionsReplaceQuotedLines(t *testing.T) {
	c := reviewing(t)
	ref := c.suggest(commenter, "one", "n.txt", 3, 3, "three")
	a := c.threads().Annotations[0]
	st, _ := core.ReadStamp(a.Entries[0].Meta)
	own, err := json.Marshal(map[string]string{"side": "after", "hunk": "12", "version": st.Version})
	c.must(err)
	a.ID, a.Entries = "forged", []ahp.AnnotationEntry{{ID: "1", Text: a.Entries[0].Text,
		Meta: ahp.Meta{core.MetaKey: own}}}
	c.dispatch(notes, &ahp.AnnotationsSetAction{Annotation: a})
	if err := c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{{Thread: "forged",
		Entry: "1", N: 0}}); code(err) != ahp.CodeConflict || c.read("n.txt") != twelve {
		t.Errorf("%v, and the file reads %q", err, c.read("n.txt"))
	}
	c.must(c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{ref}))
}

func TestCommitSuggestions(t *testing.T) {
	c := reviewing(t)
	ref := c.suggest(commenter, "one", "n.txt", 3, 3, "three")
	if err := c.host.Threads.CommitSuggestions(t.Context(), c.owner, session,
		[]threads.SuggestionRef{ref}); err == nil || !strings.Contains(err.Error(), "user.name") {
		t.Errorf("git knows nobody: %v", err)
	}
	if got := c.read("n.txt"); got != twelve {
		t.Fatalf("nothing was committed, and the file reads %q", got)
	}
	c.git("config", "user.name", "Machine")
	c.git("config", "user.email", "machine@example.org")
	c.write("other.txt", "not part of it\n")
	c.git("add", "other.txt")
	if err := c.host.Threads.CommitSuggestions(t.Context(), c.owner, session,
		[]threads.SuggestionRef{ref}); err == nil || !strings.Contains(err.Error(), "staged already") {
		t.Errorf("with a file staged: %v", err)
	}
	c.git("reset", "-q")
	c.must(c.host.Threads.CommitSuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{ref}))
	if got := c.gitSays("log", "-1", "--format=%an <%ae>%n%cn%n%B",
		"--name-only"); got != "Ana <machine@example.org>\nMachine\nApply a suggestion from review to "+
		"n.txt\n\nCo-authored-by: Ben <guest.ben@ahphub.invalid>\n\n\nn.txt" {
		t.Errorf("the commit is\n%s", got)
	}
	if got := c.gitSays("status", "--porcelain"); got != "?? other.txt" {
		t.Errorf("left over: %s", got)
	}
	c.gitSays("fsck", "--strict")
	if a := c.threads().Annotations[0]; !a.Resolved || !strings.HasPrefix(a.Entries[1].Text.Text,
		"Committed the suggestion as ") {
		t.Errorf("the thread is %+v", a)
	}
}

// Threads move with their lines at the end of a turn, for clients that only know the protocol.
// Their origin is kept, and threads on changed lines are not moved.
func TestThreadsFollowTheirLines(t *testing.T) {
	c := reviewing(t)
	c.suggest(commenter, "follows", "n.txt", 3, 4, "x")
	c.suggest(commenter, "lost", "n.txt", 7, 8, "x")
	c.suggest(commenter, "resolved", "n.txt", 11, 11, "x")
	c.dispatch(notes, resolved("resolved", true))
	rows := func(id string) review.Range {
		return threads.WholeLines(*c.threads().Annotations[threads.FindThread(c.threads(), id)].Range)
	}
	c.turn(func() { c.write("n.txt", "a\nb\n"+strings.Replace(twelve, "8\n", "eight\n", 1)) })
	c.until("the thread follows", func() bool { return rows("follows") == review.Range{From: 5, To: 6} })
	if rows("lost") != (review.Range{From: 7, To: 8}) || rows("resolved") != (review.Range{From: 11, To: 11}) {
		t.Errorf("the others are at %v and %v", rows("lost"), rows("resolved"))
	}
	if o := threads.ThreadOrigin(&c.threads().Annotations[0]); o.Range != (review.Range{From: 3, To: 4}) ||
		o.Hunk != "3\n4" || o.Version == "" {
		t.Errorf("its origin is %+v", o)
	}
	c.turn(func() { c.write("n.txt", twelve) })
	c.until("it comes back", func() bool { return rows("follows") == review.Range{From: 3, To: 4} })

	ben, err := c.hub.Connect(hub.ConnConfig{Principal: commenter.ID, ClientID: "ben-1",
		Audience: commenter.Audience()})
	c.must(err)
	t.Cleanup(func() { ben.Close(errors.New("the test is over")) })
	o, err := c.host.Dispatch(t.Context(), core.Caller{Principal: commenter, ClientID: "ben-1", Conn: ben}, notes, 1,
		&ahp.AnnotationsUpdatedAction{AnnotationID: "follows", Range: threads.LineRange(9, 9)})
	if err != nil || o.Rejected != "" {
		t.Fatalf("%+v %v", o, err)
	}
	if o := threads.ThreadOrigin(&c.threads().Annotations[0]); o.Range != (review.Range{From: 9, To: 9}) ||
		o.Version != "" {
		t.Errorf("its author put it elsewhere, and its origin is %+v", o)
	}
}

// With a nested repository in the same session, a suggestion is written and committed in the
// repository of its file.
func TestSuggestionInANestedRepository(t *testing.T) {
	c := newChanging(t)
	inner := filepath.Join(c.dir, "inner")
	c.must(os.Mkdir(inner, 0o755))
	c.write("inner/n.txt", "1\n")
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "Host"},
		{"config", "user.email", "host@example.org"},
		{"add", "-A"}, {"commit", "-q", "-m", "first inside"}} {
		c.git(append([]string{"-C", "inner"}, args...)...)
	}
	c.must(c.hub.Do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionWorkingDirectorySetAction{Directory: core.FileURI(inner)})
	}))
	c.turn(func() { c.write("inner/n.txt", twelve) })
	shown := c.follow("session", "")
	c.until("the file is shown", func() bool { return len(c.changes(shown).Files) > 0 })
	written := c.suggest(commenter, "one", "inner/n.txt", 1, 1, "one")
	c.must(c.host.Threads.ApplySuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{written}))
	if got := c.read("inner/n.txt"); !strings.HasPrefix(got, "one\n2\n") {
		t.Errorf("the file reads %q", got)
	}
	committed := c.suggest(commenter, "two", "inner/n.txt", 2, 2, "two")
	c.must(c.host.Threads.CommitSuggestions(t.Context(), c.owner, session, []threads.SuggestionRef{committed}))
	if got := c.gitSays("-C", "inner", "log", "-1", "--format=%s"); got != "Apply a suggestion from review to n.txt" {
		t.Errorf("the inner repository's last commit is %q", got)
	}
	if got := c.gitSays("log", "--format=%s"); got != "first" {
		t.Errorf("the outer one's commits are %q", got)
	}
}
