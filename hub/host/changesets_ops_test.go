package host

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

func (c *changing) identity() {
	c.git("config", "user.name", "Host")
	c.git("config", "user.email", "host@example.org")
}

func (c *changing) file(name string) *ahp.ChangesetOperationResourceTarget {
	return &ahp.ChangesetOperationResourceTarget{Resource: core.FileURI(filepath.Join(c.dir, name))}
}

// rows returns the range of whole lines of a file, from 1, as editors send it.
func (c *changing) rows(name string, side ahp.ChangesetSide, from, to int64) *ahp.ChangesetOperationRangeTarget {
	return &ahp.ChangesetOperationRangeTarget{Resource: c.file(name).Resource, Side: side,
		Range: ahp.TextRange{Start: ahp.TextPosition{Line: from - 1}, End: ahp.TextPosition{Line: to}}}
}

// invoke runs an operation and returns its message.
func (c *changing) invoke(uri ahp.URI, op string, target ahp.ChangesetOperationTargetValue,
	with ...string) (string, error) {
	p := ahp.InvokeChangesetOperationParams{Channel: uri, OperationID: op}
	if target != nil {
		p.Target = &ahp.ChangesetOperationTarget{Value: target}
	}
	if len(with) == 2 {
		raw, err := json.Marshal(map[string]string{with[0]: with[1]})
		c.must(err)
		p.Meta = ahp.Meta{core.MetaKey: raw}
	}
	r, err := c.host.Changes.InvokeOperation(c.t.Context(), c.owner, p)
	if err != nil {
		return "", err
	}
	return r.Message.Text, nil
}

// does runs an operation and checks its message.
func (c *changing) does(want string, uri ahp.URI, op string, target ahp.ChangesetOperationTargetValue, with ...string) {
	c.t.Helper()
	said, err := c.invoke(uri, op, target, with...)
	if err != nil || !strings.HasPrefix(said, want) {
		c.t.Fatalf("%s: it says %q, %v; want %q", op, said, err, want)
	}
}

// offered returns one word per operation: its id, and its status if not idle.
func (c *changing) offered(uri ahp.URI) string {
	var out []string
	for _, op := range c.changes(uri).Operations {
		word := op.ID
		if op.Status != ahp.ChangesetOperationStatusIdle {
			word += ":" + string(op.Status)
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func (c *changing) offers(uri ahp.URI, want string) {
	c.t.Helper()
	c.until("it offers "+want+" instead of "+c.offered(uri), func() bool { return c.offered(uri) == want })
}

func (c *changing) stagedIs(uri ahp.URI, name, want string) {
	c.t.Helper()
	id := c.file(name).Resource
	c.until(name+" is staged: "+want, func() bool {
		return slices.ContainsFunc(c.changes(uri).Files, func(f ahp.ChangesetFile) bool {
			return f.ID == id &&
				changes.ReadFileNote(f.Meta).Staged == want
		})
	})
}

func (c *changing) gitSays(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = c.dir
	out, err := cmd.Output()
	c.must(err)
	return strings.TrimSpace(string(out))
}

// The operations depend on the changeset, and on the current changes (AHP requirement 155).
func TestOperationsWhereTheyMakeSense(t *testing.T) {
	c := newChanging(t)
	c.git("branch", "-M", "main")
	turn := c.turn(func() { c.write("new.txt", "new\n") })
	c.offers(c.follow("turn", turn), "revert")
	c.offers(c.follow("session", ""), "revert")
	c.offers(c.follow("branch", ""), "create-branch revert")
	uri := c.follow("uncommitted", "")
	c.offers(uri, "stage unstage:disabled commit discard create-branch revert")
	c.git("add", "new.txt")
	c.offers(uri, "stage unstage commit discard create-branch revert")
	c.stagedIs(uri, "new.txt", "all")
	c.write("new.txt", "newer\n")
	c.stagedIs(uri, "new.txt", "part")
	for _, op := range c.changes(uri).Operations {
		if want := op.ID == "revert" || op.ID == "discard"; (op.Confirmation != nil) != want {
			t.Errorf("%s asks first: %v", op.ID, !want)
		}
	}
	c.must(os.RemoveAll(filepath.Join(c.dir, ".git")))
	c.host.Changes.Refresh(session)
	c.offers(uri, "revert")
}

func TestStageAndCommit(t *testing.T) { // AHP requirements 155 and 156
	c := newChanging(t)
	c.write("a.txt", "one\n2\nthree\n")
	c.write("b.txt", "b\n")
	uri := c.follow("uncommitted", "")
	if _, err := c.invoke(uri, "commit", nil, "message", "Count"); code(err) != ahp.CodeConflict ||
		!strings.Contains(err.Error(), "no author name") {
		t.Errorf("without an identity: %v", err)
	}
	c.identity()
	c.does("Staged hunk in a.txt", uri, "stage", c.rows("a.txt", "", 3, 3))
	c.stagedIs(uri, "a.txt", "part")
	if got := c.gitSays("show", ":a.txt"); got != "one\ntwo\nthree" {
		t.Errorf("the index has %q", got)
	}
	c.does("Unstaged 1 file", uri, "unstage", nil)
	c.stagedIs(uri, "a.txt", "")
	if _, err := c.invoke(uri, "commit", nil); code(err) != ahp.CodeConflict || !strings.Contains(err.Error(),
		"the message is empty") {
		t.Errorf("without a message: %v", err)
	}
	c.does("Staged a.txt", uri, "stage", c.file("a.txt"))
	c.does("Committed ", uri, "commit", nil, "message", "Count\n\nwith digits")
	c.shows(uri, "A b.txt +1 −0")
	if got := c.gitSays("log", "-1", "--format=%an <%ae> %s"); got != "Ana <host@example.org> Count" {
		t.Errorf("the commit is %q", got)
	}
	c.must(os.WriteFile(filepath.Join(c.dir, ".git/hooks/pre-commit"), []byte("#!/bin/sh\necho not today\nexit 1\n"),
		0o700))
	if _, err := c.invoke(uri, "commit", nil, "message", "b"); code(err) != ahp.CodeConflict ||
		!strings.Contains(err.Error(), "not today") {
		t.Errorf("a hook that refuses: %v", err)
	}
	c.until("the refusal is shown", func() bool {
		i := slices.IndexFunc(c.changes(uri).Operations,
			func(o ahp.ChangesetOperation) bool { return o.ID == "commit" })
		o := c.changes(uri).Operations[i]
		return o.Status == ahp.ChangesetOperationStatusError && strings.Contains(o.Error.Message, "not today")
	})
	c.git("fsck", "--full", "--strict")
}

func TestDiscardAndUndo(t *testing.T) {
	c := newChanging(t)
	c.write("a.txt", "one\n2\n")
	c.write("new.txt", "new\n")
	uri := c.follow("uncommitted", "")
	c.does("Discarded 2 files", uri, "discard", nil)
	c.shows(uri, "")
	c.offers(uri, "stage:disabled unstage:disabled commit:disabled discard:disabled create-branch revert:disabled undo")
	c.does("Restored 2 files", uri, "undo", nil)
	c.shows(uri, "M a.txt +1 −1; A new.txt +1 −0")
	c.offers(uri, "stage unstage:disabled commit discard create-branch revert")

	c.does("Discarded hunk in a.txt", uri, "discard", c.rows("a.txt", ahp.ChangesetSideAfter, 2, 2))
	c.shows(uri, "A new.txt +1 −0")
	c.does("Discarded new.txt", uri, "discard", c.file("new.txt"))
	c.offers(uri, "stage:disabled unstage:disabled commit:disabled discard:disabled create-branch revert:disabled undo")
	c.write("new.txt", "another one\n")
	c.shows(uri, "A new.txt +1 −0")
	c.does("Restored 1 file", uri, "undo", nil) // a.txt, which is unchanged since
	c.shows(uri, "A new.txt +1 −0; M a.txt +1 −1")
	c.offers(uri, "stage unstage:disabled commit discard create-branch revert")
	if _, err := c.invoke(uri, "undo", nil); code(err) != ahp.CodeInvalidParams ||
		c.read("new.txt") != "another one\n" {
		t.Errorf("undoing what is not offered: %v, %q", err, c.read("new.txt"))
	}
}

// Reverting lines keeps edits elsewhere. It can be undone in the same changeset.
func TestRevertLinesAndUndo(t *testing.T) {
	c := newChanging(t)
	turn := c.turn(func() { c.write("a.txt", "one\n2\nthree\n") })
	uri := c.follow("turn", turn)
	c.write("a.txt", "zero\none\n2\nthree\n")
	c.does("Reverted hunk in a.txt", uri, "revert", c.rows("a.txt", "", 2, 2))
	if got := c.read("a.txt"); got != "zero\none\ntwo\nthree\n" {
		t.Errorf("the file is %q", got)
	}
	for name, bad := range map[string]ahp.ChangesetOperationTargetValue{
		"no lines":        c.rows("a.txt", "", 0, 0),
		"backwards":       c.rows("a.txt", "", 5, 2),
		"another file":    c.rows("b.txt", "", 1, 1),
		"a kind not ours": &ahp.UnknownVariant{},
	} {
		if _, err := c.invoke(uri, "revert", bad); code(err) != ahp.CodeInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.invoke(uri, "revert", c.rows("a.txt", "", 1, 1)); code(err) != ahp.CodeConflict {
		t.Errorf("lines without a change: %v", err)
	}
	c.until("an undo is offered", func() bool { return strings.HasSuffix(c.offered(uri), " undo") })
	c.does("Restored 1 file", uri, "undo", nil)
	if got := c.read("a.txt"); got != "zero\none\n2\nthree\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestNewBranchOperation(t *testing.T) {
	c := newChanging(t)
	c.git("branch", "-M", "main")
	c.write("a.txt", "edited\n")
	uri := c.follow("branch", "")
	if _, err := c.invoke(uri, "create-branch", nil, "name", "main"); code(err) != ahp.CodeConflict ||
		!strings.Contains(err.Error(), "no branch was created: the branch main already exists") {
		t.Errorf("a branch that is there: %v", err)
	}
	c.does("Created branch fix/it", uri, "create-branch", nil, "name", "fix/it")
	if got := c.gitSays("symbolic-ref", "--short", "HEAD"); got != "fix/it" || c.read("a.txt") != "edited\n" {
		t.Errorf("HEAD is %s, the file %q", got, c.read("a.txt"))
	}
}

// Of concurrent operations by several people, one succeeds and the others fail.
func TestOneOfTwoPeopleWins(t *testing.T) {
	c := newChanging(t)
	c.identity()
	c.write("a.txt", "edited\n")
	uri := c.follow("uncommitted", "")
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = c.invoke(uri, "commit", nil, "message", "mine") })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if code(err) != ahp.CodeConflict && code(err) != ahp.CodeInvalidParams {
			t.Errorf("the other is told %v", err)
		}
	}
	if got := c.gitSays("rev-list", "--count", "HEAD"); won != 1 || got != "2" {
		t.Errorf("%d of 4 won, there are %s commits", won, got)
	}
}

// Callers who may not change files do not learn whether an operation is possible.
func TestGuestsDoNotOperate(t *testing.T) {
	c := newChanging(t)
	c.write("a.txt", "edited\n")
	uri := c.follow("uncommitted", "")
	for _, op := range []string{"stage", "unstage", "commit", "discard", "create-branch", "revert", "undo"} {
		_, err := c.host.Changes.InvokeOperation(t.Context(), core.Caller{Principal: viewer},
			ahp.InvokeChangesetOperationParams{Channel: uri, OperationID: op})
		if code(err) != ahp.CodePermissionDenied {
			t.Errorf("%s: %v", op, err)
		}
	}
	c.shows(uri, "M a.txt +1 −2")
}
