package changeset

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestStates(t *testing.T) {
	edit := func(p *place) func() {
		return func() { p.write("a.txt", "changed\n"); p.write("new.txt", "new\n") }
	}
	t.Run("no repository", func(t *testing.T) {
		p := newPlace(t)
		p.write("a.txt", "a\n")
		p.want(p.changes(edit(p)), "M a.txt +1 −1", "A new.txt +1 −0")
	})
	t.Run("no commit", func(t *testing.T) {
		p := newPlace(t)
		p.git("init", "-q")
		p.write("a.txt", "a\n")
		p.want(p.changes(edit(p)), "M a.txt +1 −1", "A new.txt +1 −0")
	})
	t.Run("becomes a repository", func(t *testing.T) {
		p := newPlace(t)
		p.write("a.txt", "a\n")
		p.want(p.changes(func() { p.git("init", "-q"); p.commit(); edit(p)() }), "M a.txt +1 −1", "A new.txt +1 −0")
	})
	t.Run("stops being a repository", func(t *testing.T) {
		p := newRepo(t)
		p.want(p.changes(func() { p.remove(".git"); p.write("new.txt", "new\n") }), "A new.txt +1 −0")
	})
	t.Run("subdirectory of a repository", func(t *testing.T) {
		p := newRepo(t)
		whole := p.dir
		p.dir = p.path("sub")
		p.want(p.changes(func() {
			p.write("b.txt", "b2\n")
			if err := os.WriteFile(filepath.Join(whole, "a.txt"), []byte("elsewhere\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}), "M sub/b.txt +1 −1")
	})
	t.Run("work tree with a .git file", func(t *testing.T) {
		p := newRepo(t)
		other := filepath.Join(t.TempDir(), "other")
		p.git("worktree", "add", "-q", other)
		p.dir = other
		p.want(p.changes(edit(p)), "M a.txt +1 −3", "A new.txt +1 −0")
	})
	t.Run("separate git directory", func(t *testing.T) {
		p := newPlace(t)
		p.svc.anywhere = true
		p.git("init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere.git"))
		p.write("a.txt", "a\n")
		p.commit()
		p.want(p.changes(edit(p)), "M a.txt +1 −1", "A new.txt +1 −0")
	})
	t.Run("index locked", func(t *testing.T) {
		p := newRepo(t)
		p.write(".git/index.lock", "")
		p.want(p.changes(edit(p)), "M a.txt +1 −3", "A new.txt +1 −0")
	})
	t.Run("rebase in progress, with conflicts", func(t *testing.T) {
		p := newRepo(t)
		p.git("checkout", "-q", "-b", "side")
		p.write("a.txt", "side\n")
		p.commit()
		p.git("checkout", "-q", "main")
		p.write("a.txt", "main\n")
		p.commit()
		cmd := exec.Command("git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", "rebase", "side")
		cmd.Dir = p.dir
		if cmd.Run() == nil {
			t.Fatal("the rebase has no conflict")
		}
		p.want(p.changes(func() { p.write("new.txt", "new\n") }), "A new.txt +1 −0")
		p.want(p.changes(func() { p.write("a.txt", "solved\n") }), "M a.txt +1 −5")
	})
	t.Run("split index", func(t *testing.T) {
		p := newRepo(t)
		p.git("update-index", "--split-index")
		p.want(p.changes(edit(p)), "M a.txt +1 −3", "A new.txt +1 −0")
	})
	t.Run("sha256", func(t *testing.T) {
		p := newPlace(t)
		p.git("init", "-q", "--object-format=sha256")
		p.write("a.txt", "a\n")
		p.commit()
		p.want(p.changes(edit(p)), "M a.txt +1 −1", "A new.txt +1 −0")
	})
	t.Run("sparse checkout", func(t *testing.T) {
		p := newRepo(t)
		p.git("sparse-checkout", "set", "--cone", "other")
		if _, err := os.Stat(p.path("sub/b.txt")); err == nil {
			t.Fatal("the checkout is not sparse")
		}
		p.want(p.changes(edit(p)), "M a.txt +1 −3", "A new.txt +1 −0")
		p.want(p.changes(func() { p.write("sub/b.txt", "here again\n") }), "M sub/b.txt +1 −1")
	})
	t.Run("line ends translated", func(t *testing.T) {
		p := newPlace(t)
		p.git("init", "-q")
		p.git("config", "core.autocrlf", "true")
		p.write("a.txt", "one\r\ntwo\r\n")
		p.commit()
		p.want(p.changes(func() { p.write("a.txt", "one\r\ntwo\r\nthree\r\n") }), "M a.txt +1 −0")
	})
	t.Run("submodule", func(t *testing.T) {
		inner := newRepo(t)
		p := newRepo(t)
		p.git("submodule", "--quiet", "add", inner.dir, "inner")
		p.commit()
		inner.dir = p.path("inner")
		p.want(p.changes(func() { inner.write("a.txt", "dirty\n") }))
		p.want(p.changes(func() { inner.commit() }), "M inner +1 −1")
	})
	t.Run("a repository inside", func(t *testing.T) {
		p := newRepo(t)
		p.want(p.changes(func() {
			inner := *p
			inner.dir = p.path("clone")
			inner.write("x", "x")
			inner.git("init", "-q")
		}), "A clone (a separate git repository)")
	})
	t.Run("file becomes a directory and back", func(t *testing.T) {
		p := newRepo(t)
		p.want(p.changes(func() { p.remove("a.txt"); p.write("a.txt/deep", "x\n") }), "D a.txt +0 −3",
			"A a.txt/deep +1 −0")
		p.want(p.changes(func() { p.remove("a.txt"); p.write("a.txt", "x\n") }), "R a.txt/deep → a.txt +0 −0")
	})
}
