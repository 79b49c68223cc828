package changeset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// tree creates a work tree of a place.
func (p *place) tree(dir string) (machine.Worktree, string) {
	p.t.Helper()
	w, at, err := p.svc.AddWorktree(p.t.Context(), session, machine.NewWorktree{Dir: dir, Name: "one",
		Branch: "ahphub/one"})
	if err != nil {
		p.t.Fatal(err)
	}
	return w, at
}

func (p *place) in(w machine.Worktree, name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) commitIn(w machine.Worktree) {
	p.t.Helper()
	p.gitIn(w.Dir, "add", "-A")
	p.gitIn(w.Dir, "commit", "-q", "-m", "work")
}

func conflict(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want a conflict with %q", err, want)
	}
}

func TestMakeMergeAndRemoveWorktree(t *testing.T) {
	p := newRepo(t)
	p.write("a.txt", "not committed\n")
	w, at := p.tree(p.path("sub"))
	if at != filepath.Join(w.Dir, "sub") || w.Repo != p.dir || w.Into != "main" {
		t.Errorf("made %+v with %s", w, at)
	}
	if b, err := os.ReadFile(filepath.Join(w.Dir, "a.txt")); string(b) != "one\ntwo\nthree\n" {
		t.Errorf("it begins with %q (%v), not with what is committed", b, err)
	}

	p.in(w, "new.txt", "new\n")
	_, err := p.svc.MergeWorktree(t.Context(), session, w)
	conflict(t, err, "the worktree has changes: one file is not committed")
	conflict(t, p.svc.RemoveWorktree(t.Context(), session, w, false), "not committed")
	p.commitIn(w)
	conflict(t, p.svc.RemoveWorktree(t.Context(), session, w, false), "1 commits of ahphub/one are on no other branch")

	n, err := p.svc.MergeWorktree(t.Context(), session, w)
	if n != 1 || err != nil {
		t.Fatalf("merged %d: %v", n, err)
	}
	if b, _ := os.ReadFile(p.path("a.txt")); string(b) != "not committed\n" {
		t.Errorf("a change that was there holds %q", b)
	}
	if b, err := os.ReadFile(p.path("new.txt")); string(b) != "new\n" {
		t.Errorf("what was merged holds %q (%v)", b, err)
	}
	_, err = p.svc.MergeWorktree(t.Context(), session, w)
	conflict(t, err, "already has everything in ahphub/one")

	for range 2 { // removing a missing one is not an error
		if err := p.svc.RemoveWorktree(t.Context(), session, w, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(w.Dir); !os.IsNotExist(err) {
		t.Errorf("its directory is still there (%v)", err)
	}
	if left := p.git("branch", "--list", "ahphub/*") + p.git("worktree", "list", "--porcelain"); strings.Contains(left,
		"one") {
		t.Errorf("left behind: %s", left)
	}
}

func TestFailedMergeIsUndone(t *testing.T) {
	p := newRepo(t)
	w, _ := p.tree(p.dir)
	p.in(w, "a.txt", "theirs\n")
	p.commitIn(w)
	p.write("a.txt", "ours\n")
	p.commit()
	head := p.git("rev-parse", "HEAD")
	_, err := p.svc.MergeWorktree(t.Context(), session, w)
	conflict(t, err, "nothing was merged")
	if p.git("rev-parse", "HEAD") != head || p.git("status", "--porcelain") != "" {
		t.Errorf("left at %s with %s", p.git("rev-parse", "HEAD"), p.git("status", "--porcelain"))
	}
	p.git("switch", "-q", "-c", "other")
	_, err = p.svc.MergeWorktree(t.Context(), session, w)
	conflict(t, err, "has other checked out, not main")
	if err := p.svc.RemoveWorktree(t.Context(), session, w, true); err != nil {
		t.Error(err)
	}
}

func TestWorktreeNeedsRepository(t *testing.T) {
	p := newPlace(t)
	_, _, err := p.svc.AddWorktree(t.Context(), session, machine.NewWorktree{Dir: p.dir, Name: "one", Branch: "x"})
	conflict(t, err, "is not in a git repository")
	p.git("init", "-q")
	_, _, err = p.svc.AddWorktree(t.Context(), session, machine.NewWorktree{Dir: p.dir, Name: "one", Branch: "x"})
	conflict(t, err, "has no commits yet")

	r := newRepo(t)
	_, _, err = r.svc.AddWorktree(t.Context(), session, machine.NewWorktree{Dir: r.dir, Name: "one", Branch: "main"})
	conflict(t, err, "already exists")
}
