package pages_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// A session is created with a worktree; its changes are committed in the review and merged, and the worktree is
// removed, all by forms. The page shows git's refusals, and nothing happens.
func TestAWorktreeByForms(t *testing.T) {
	x := openTree(t)
	if form := x.get("/new?config.isolation=worktree&dir=" + url.QueryEscape(x.dir)); !strings.Contains(form,
		`value="worktree" checked`) {
		t.Error("the form of a new session does not hold what its address says")
	}
	if none := x.get(x.base + "/worktree"); !strings.Contains(none, "uses the repository directly") ||
		strings.Contains(none, "Merge into") {
		t.Error("a session without a worktree is offered to merge one")
	}
	x.base = x.post("/new", url.Values{"dir": {x.dir}, "agent": {script.Provider}, "config.isolation": {"worktree"}})
	at := x.base + "/worktree"
	tree, ok := worktrees.Of(x.pages.SessionState(x.session0(x.base)))
	if !ok {
		t.Fatal("the session has no worktree")
	}
	p := x.until(x.base, tree.Branch)
	if !strings.Contains(p, `href="`+at+`">Worktree</a>`) || !strings.Contains(p, "Merge or remove worktree") {
		t.Error("the session's head does not lead to its worktree")
	}
	if form := x.get("/new"); !strings.Contains(form, `value="`+x.dir+`"`) || strings.Contains(form, tree.Dir) {
		t.Error("a new session is offered the worktree of another")
	}
	x.shows(at, tree.Branch, "main at "+tree.Base[:10], "0 commits ahead of main", "0 files uncommitted")
	x.refuses(at, url.Values{"do": {"merge"}}, http.StatusConflict,
		"There is nothing to merge. main already has everything")

	if err := os.WriteFile(filepath.Join(tree.Dir, "b.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.refuses(at, url.Values{"do": {"merge"}}, http.StatusConflict, "Commit or discard first")
	x.refuses(at, url.Values{"do": {"remove"}}, http.StatusConflict, "Remove worktree and lose 1 uncommitted file")
	x.changes("0 of 1 file staged")
	x.op(http.StatusSeeOther, "commit", "message", "b")
	x.shows(at, "1 commit ahead of main", "0 files uncommitted")
	x.refuses(at, url.Values{"do": {"remove"}}, http.StatusConflict, "and lose 1 commit")
	x.refuses(at, url.Values{"do": {"explode"}}, http.StatusBadRequest, "merge, remove or discard")

	head := x.tab(at)
	if to := x.post(at, url.Values{"do": {"merge"}}); !strings.Contains(x.get(to), "Merged 1 commit.") {
		t.Error("it is not said that it was merged")
	}
	if x.read("b.txt") != "b\n" {
		t.Error("nothing was merged")
	}
	if to := x.post(at, url.Values{"do": {"remove"}}); !strings.Contains(x.get(to),
		"The worktree and its branch have been removed.") {
		t.Error("it is not said that it was removed")
	}
	if _, err := os.Stat(tree.Dir); err == nil || x.git("branch", "--list", tree.Branch) != "" {
		t.Error("something of it is left")
	}
	head.wait("branch", "main")
	x.refuses(at, url.Values{"do": {"merge"}}, http.StatusNotFound, "no worktree")
}

// Forced removal discards uncommitted changes.
func TestAWorktreeIsDiscarded(t *testing.T) {
	x := openTree(t)
	x.base = x.post("/new", url.Values{"dir": {x.dir}, "agent": {script.Provider}, "config.isolation": {"worktree"}})
	tree, _ := worktrees.Of(x.pages.SessionState(x.session0(x.base)))
	if err := os.WriteFile(filepath.Join(tree.Dir, "b.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.post(x.base+"/worktree", url.Values{"do": {"discard"}})
	if _, err := os.Stat(tree.Dir); err == nil {
		t.Error("the worktree is still there")
	}
}

// The head of a session shows the branch when it changes, in anyone's terminal.
func TestTheHeadShowsTheBranch(t *testing.T) {
	x := openTree(t)
	x.until(x.base, `title="Branch main"`)
	head := x.tab(x.base)
	x.git("switch", "-q", "-c", "fix/\u202eit")
	head.wait("branch", "it")
	x.shows(x.base, `data-u="U+202E"`)
	x.git("switch", "-q", "--detach")
	head.wait("branch", x.git("rev-parse", "--short", "HEAD"))
	x.until(x.base, "Detached HEAD at this commit")
}

// shows checks that a page contains some texts.
func (s *testSite) shows(path string, words ...string) {
	s.t.Helper()
	p := s.get(path)
	for _, w := range words {
		if !strings.Contains(p, w) {
			s.t.Errorf("%s does not show %q:\n%s", path, w, p)
		}
	}
}
