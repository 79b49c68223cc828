package changeset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folders returns the folders that a walk visits, below the place or its git directories.
func (p *place) folders(below ...string) (got []string) {
	p.t.Helper()
	err := p.svc.Walk(p.t.Context(), session, []string{p.dir}, below, func(f Folder) error {
		name := strings.TrimPrefix(f.Path, p.dir)
		switch {
		case f.Nested != "":
			name += " of " + strings.TrimPrefix(f.Nested, p.dir)
		case f.Git:
			name += " git"
		case f.Refs:
			name += " refs"
		}
		got = append(got, name)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(got)
	return slices.Compact(got)
}

func TestWalk(t *testing.T) {
	p := newRepo(t)
	p.write(".gitignore", "out/\nforced/\n")
	p.write("out/x/y", "ignored\n")
	p.write("new/out/z", "ignored, in a new folder\n")
	p.write("new/deep/z", "untracked\n")
	p.write("forced/kept/z", "tracked although it is ignored\n")
	p.write("forced/not/z", "ignored\n")
	p.git("add", "-f", "forced/kept/z")
	for _, empty := range []string{"empty/er", "out/empty"} {
		if err := os.MkdirAll(p.path(empty), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inner := *p
	inner.dir = p.path("inner")
	inner.write("x", "x")
	inner.git("init", "-q")
	p.git("branch", "feature/one")
	p.want(p.folders(), "", "/.git git", "/.git/info git", "/.git/refs refs", "/.git/refs/heads refs",
		"/.git/refs/heads/feature refs", "/.git/refs/tags refs", "/empty", "/empty/er", "/forced", "/forced/kept",
		"/inner/.git of /inner", "/new", "/new/deep", "/sub")
	p.want(p.folders(p.path("new"), p.path("out"), p.path("forced/not")), "/new", "/new/deep")
	enough := errors.New("enough")
	n := 0
	err := p.svc.Walk(t.Context(), session, []string{p.dir}, nil, func(Folder) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 3 {
		t.Errorf("the walk went on to %d folders: %v", n, err)
	}
}

func TestWalkOfOtherPlaces(t *testing.T) {
	t.Run("no repository", func(t *testing.T) {
		p := newPlace(t)
		p.write("a/b/c", "x")
		p.want(p.folders(), "", "/a", "/a/b")
	})
	t.Run("a linked work tree", func(t *testing.T) {
		p := newRepo(t)
		other := filepath.Join(t.TempDir(), "other")
		p.git("worktree", "add", "-q", other)
		main := p.path(".git")
		p.dir = other
		got := p.folders()
		for _, want := range []string{"", "/sub", main + " git", main + "/worktrees/other git", main +
			"/refs/heads refs"} {
			if !slices.Contains(got, want) {
				t.Errorf("%q is not visited: %q", want, got)
			}
		}
	})
	t.Run("a submodule", func(t *testing.T) {
		inner := newRepo(t)
		p := newRepo(t)
		p.git("submodule", "--quiet", "add", inner.dir, "inner")
		if got := p.folders(); !slices.Contains(got, "/.git/modules/inner of /inner") ||
			!slices.Contains(got, "/.git/modules/inner/logs of /inner") || slices.Contains(got, "/inner") {
			t.Errorf("visited are %q", got)
		}
	})
	t.Run("a link to a repository", func(t *testing.T) {
		p := newRepo(t)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(p.dir, link); err != nil {
			t.Fatal(err)
		}
		real := *p
		p.dir = link
		before := p.checkpoint()
		real.write("sub/b.txt", "2\n")
		c, err := p.svc.Look(t.Context(), session, []string{link}, []string{real.path("sub/b.txt")})
		if err != nil {
			t.Fatal(err)
		}
		p.want(summary(p.compare(before, c)), "M sub/b.txt +1 −1")
	})
}
