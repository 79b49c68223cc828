package changeset

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// nest is a repository with a nested one; the session has both directories.
type nest struct {
	*place
	inner *place
}

// nests are the ways to nest a repository.
var nests = map[string]func(p *place){
	"a repository of its own": func(p *place) {
		p.write("inner/a.txt", "one\ntwo\nthree\n")
		p.gitIn(p.path("inner"), "init", "-q", "-b", "main")
		p.gitIn(p.path("inner"), "add", "-A")
		p.gitIn(p.path("inner"), "commit", "-q", "-m", "inner")
		p.write(".gitignore", "inner/\n")
		p.commit()
	},
	"a submodule": func(p *place) {
		of := newRepo(p.t)
		p.git("submodule", "add", "-q", of.dir, "inner")
		p.commit()
	},
}

func eachNest(t *testing.T, do func(t *testing.T, n nest)) {
	for name, make := range nests {
		t.Run(name, func(t *testing.T) {
			n := nest{place: newRepo(t)}
			make(n.place)
			inner := *n.place
			inner.dir = n.path("inner")
			n.inner = &inner
			do(t, n)
		})
	}
}

func (n nest) dirs() []string { return []string{n.dir, n.inner.dir} }

// changed writes into both, and returns the uncommitted changes.
func (n nest) changed() ([]machine.Tree, []machine.ChangedFile) {
	n.t.Helper()
	n.write("a.txt", "outer\n")
	n.inner.write("a.txt", "inner\n")
	return n.uncommitted()
}

func (n nest) uncommitted() ([]machine.Tree, []machine.ChangedFile) {
	n.t.Helper()
	head, err := n.svc.Head(n.t.Context(), session, n.dirs())
	n.mustSucceed(err)
	c, err := n.svc.Checkpoint(n.t.Context(), session, n.dirs())
	n.mustSucceed(err)
	return c.Trees, n.compare(head, c)
}

// indexes checks what is staged in the outer and the inner repository.
func (n nest) indexes(want string) {
	n.t.Helper()
	args := []string{"diff", "--cached", "--name-only"}
	if got := n.git(args...) + "|" + n.inner.git(args...); got != want {
		n.t.Errorf("staged are %q, want %q", got, want)
	}
}

func (n nest) of(files []machine.ChangedFile, top string) []machine.ChangedFile {
	return slices.DeleteFunc(slices.Clone(files), func(f machine.ChangedFile) bool { return f.Top != top })
}

// Operations on a file apply to the repository of the innermost directory.
func TestStagingInNestedRepositories(t *testing.T) {
	eachNest(t, func(t *testing.T, n nest) {
		tops, files := n.changed()
		inner := n.of(files, n.inner.dir)
		if len(files) != 2 || len(inner) != 1 {
			t.Fatalf("changed are %v", summary(files))
		}
		_, err := n.svc.Stage(t.Context(), session, tops, inner, nil)
		n.mustSucceed(err)
		n.indexes("|a.txt")
		staging, err := n.svc.Staging(t.Context(), session, n.dirs())
		n.mustSucceed(err)
		if staging.Repositories != 2 || staging.Files != 1 {
			t.Errorf("it is said that %d files are staged in %d repositories", staging.Files, staging.Repositories)
		}
		for _, f := range files {
			if got, want := staging.Of(f) == machine.StagedAll, f.Top == n.inner.dir; got != want {
				t.Errorf("%s is staged: %v", f.Name(), got)
			}
		}
		_, err = n.svc.Stage(t.Context(), session, tops, files, nil)
		n.mustSucceed(err)
		n.indexes("a.txt|a.txt")
		if got, err := n.svc.Staged(t.Context(), session, n.dirs()); got != 2 || err != nil {
			t.Errorf("%d files are staged: %v", got, err)
		}
		_, err = n.svc.Commit(t.Context(), session, tops, files, machine.Commit{Message: "both", Name: "Ana",
			Email: "ana@example.org"})
		if !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(), "several repositories") {
			t.Errorf("a commit in both: %v", err)
		}
		_, err = n.svc.Unstage(t.Context(), session, tops, inner, nil)
		n.mustSucceed(err)
		n.indexes("a.txt|")
		_, err = n.svc.Unstage(t.Context(), session, tops, nil, nil)
		n.mustSucceed(err)
		n.indexes("|")
	})
}

func TestCommitInANestedRepository(t *testing.T) {
	eachNest(t, func(t *testing.T, n nest) {
		n.inner.identity()
		outer := n.git("rev-parse", "HEAD")
		tops, files := n.changed()
		_, err := n.svc.Stage(t.Context(), session, tops, n.of(files, n.inner.dir), nil)
		n.mustSucceed(err)
		_, err = n.svc.Commit(t.Context(), session, tops, files, machine.Commit{Message: "in the inner one",
			Name: "Ana", Email: "ana@example.org"})
		n.mustSucceed(err)
		if got := n.inner.git("log", "-1", "--format=%s %an"); got != "in the inner one Ana" {
			t.Errorf("the inner one's last commit is %q", got)
		}
		if n.git("rev-parse", "HEAD") != outer || n.git("diff", "--name-only", "--ignore-submodules") != "a.txt" {
			t.Error("the outer repository is not as it was")
		}
	})
}

func TestDiscardAndRevertInNestedRepositories(t *testing.T) {
	eachNest(t, func(t *testing.T, n nest) {
		before, err := n.svc.Checkpoint(t.Context(), session, n.dirs())
		n.mustSucceed(err)
		tops, files := n.changed()
		var kept machine.Rewrite
		kept, err = n.discardFiles(tops, n.of(files, n.inner.dir), nil)
		n.mustSucceed(err)
		n.reads("outer\n", "one\ntwo\nthree\n")
		n.mustSucceed(n.svc.TakeBack(t.Context(), session, kept))
		n.reads("outer\n", "inner\n")
		now, err := n.svc.Checkpoint(t.Context(), session, n.dirs())
		n.mustSucceed(err)
		_, err = n.revertFiles(now.Trees, n.of(n.compare(before, now), n.inner.dir), nil)
		n.mustSucceed(err)
		n.reads("outer\n", "one\ntwo\nthree\n")
		n.indexes("|")
	})
}

func (n nest) reads(outer, inner string) {
	n.t.Helper()
	if o, i := n.read("a.txt"), n.inner.read("a.txt"); o != outer || i != inner {
		n.t.Errorf("the files read %q and %q, want %q and %q", o, i, outer, inner)
	}
}

// An edit of both repositories is complete or undone.
func TestEditInNestedRepositories(t *testing.T) {
	eachNest(t, func(t *testing.T, n nest) {
		texts, err := n.svc.Texts(t.Context(), session, n.dirs(), []string{n.path("a.txt"), n.inner.path("a.txt")})
		n.mustSucceed(err)
		both := []machine.TextEdit{{Path: texts[0].Path, Was: texts[0].Kept, Data: []byte("edited\n")},
			{Path: texts[1].Path, Was: texts[1].Kept, Data: []byte("edited inside\n")}}
		kept, err := n.svc.Edit(t.Context(), session, n.dirs(), both)
		n.mustSucceed(err)
		n.reads("edited\n", "edited inside\n")
		tops := map[string]string{}
		for _, f := range kept.Files {
			tops[f.Top] = f.Path
		}
		if len(tops) != 2 || tops[n.inner.dir] != "a.txt" {
			t.Errorf("it is kept as %v", kept.Files)
		}
		n.mustSucceed(n.svc.TakeBack(t.Context(), session, kept))
		for _, gits := range []string{"inner/.git", "inner/.git/config", "inner/.GIT/config", ".git/config"} {
			n.refused(gits, func() error {
				_, err := n.svc.Edit(t.Context(), session, []string{n.dir}, []machine.TextEdit{{Path: n.path(gits)}})
				return err
			}, "is not in this directory")
			n.refused("reading "+gits, func() error {
				_, err := n.svc.Texts(t.Context(), session, []string{n.dir}, []string{n.path(gits)})
				return err
			}, "is not in this directory")
		}
	})
}

// A chat in the inner directory sees nothing of the outer one.
func TestWithinANestedRepository(t *testing.T) {
	eachNest(t, func(t *testing.T, n nest) {
		before, err := n.svc.Checkpoint(t.Context(), session, n.dirs())
		n.mustSucceed(err)
		n.inner.git("commit", "-q", "--allow-empty", "-m", "moves the submodule")
		n.changed()
		now, err := n.svc.Checkpoint(t.Context(), session, n.dirs())
		n.mustSucceed(err)
		for of, want := range map[string]string{n.inner.dir: "M a.txt +1 −3", filepath.Join(n.dir, "sub"): ""} {
			got := summary(n.compare(before.Within([]string{of}), now.Within([]string{of})))
			if strings.Join(got, "|") != want {
				t.Errorf("in %s changed %v", of, got)
			}
		}
	})
}
