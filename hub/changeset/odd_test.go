package changeset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each odd file is shown correctly by a look at written paths, by a checkpoint, and against the
// last commit; the user's files do not change.
func TestOddFiles(t *testing.T) {
	pointer := func(oid string) string {
		return "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat(oid, 64) + "\nsize 12\n"
	}
	files := []struct{ name, was, is, want string }{ // ordered by name; "" means removed
		{"--option", "1\n", "2\n", "M --option +1 −1"},
		{":(top)magic*", "1\n", "2\n", "M :(top)magic* +1 −1"},
		{"a\nb\tc", "1\n", "2\n", "M a\nb\tc +1 −1"},
		{"binary", "a\x00b", "a\x00c", "M binary binary"},
		{"binary to text", "a\x00b", "text\n", "M binary to text binary"},
		{"bytes\xe9", "1\n", "2\n", "M bytes\xe9 +1 −1"},
		{"crlf", "1\r\n2\r\n", "1\r\n2\r\n3\r\n", "M crlf +1 −0"},
		{"crlf from lf", "1\n2\n", "1\r\n2\r\n", "M crlf from lf +2 −2"},
		{"crlf mixed", "1\r\n2\n", "1\n2\n", "M crlf mixed +1 −1"},
		{"deleted", "1\n2\n", "", "D deleted +0 −2"},
		{"large.bin", pointer("a"), pointer("b"), "M large.bin +1 −1"}, // a pointer to content elsewhere
		{"latin-1", "caf\xe9\nx\n", "caf\xe9\ny\n", "M latin-1 +1 −1"},
		{"long line", strings.Repeat("x", 1<<20) + "\n", strings.Repeat("y", 1<<20) + "\n", "M long line +1 −1"},
		{"newline lost", "1\n2\n", "1\n2", "M newline lost +1 −1"},
		{"newline won", "1\n2", "1\n2\n", "M newline won +1 −1"},
		{"utf-16", "a\x00b\x00", "a\x00c\x00", "M utf-16 binary"},
	}
	p := newRepo(t)
	p.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	var names, want []string
	for _, f := range files {
		p.write(f.name, f.was)
		names, want = append(names, f.name), append(want, f.want)
	}
	p.commit()
	before := p.checkpoint()
	for _, f := range files {
		if f.is == "" {
			p.remove(f.name)
		} else {
			p.write(f.name, f.is)
		}
	}
	frozen := p.freeze()
	p.want(summary(p.compare(before, p.look(names...))), want...)
	p.want(summary(p.compare(before, p.checkpoint())), want...)
	got, err := p.svc.Uncommitted(t.Context(), session, []string{p.dir})
	frozen()
	if err != nil {
		t.Fatal(err)
	}
	p.want(summary(got), want...)
	for i, f := range files {
		if got[i].NewOID != "" && p.content(got[i].NewOID) != f.is || p.content(got[i].OldOID) != f.was {
			t.Errorf("the versions of %q are not what was written", f.name)
		}
	}
	p.git("fsck", "--strict", "--no-dangling")
}

// In any state of the user's repository, a change of a.txt and a new file are shown, and the
// repository does not change: index, HEAD, branches, stash, hooks and files, also outside of the
// work tree.
func TestOddRepositories(t *testing.T) {
	for name, prepare := range map[string]func(p *place) (git string){
		"with a stash": func(p *place) string {
			p.write("a.txt", "stashed\n")
			p.git("stash")
			return ""
		},
		"with hooks": func(p *place) string {
			for _, hook := range []string{"pre-commit", "post-index-change", "post-checkout", "reference-transaction"} {
				p.write(".git/hooks/"+hook, "#!/bin/sh\necho ran >> '"+p.path("ran")+"'\n")
				p.chmod(".git/hooks/"+hook, 0o755)
			}
			return ""
		},
		"without a branch": func(p *place) string { p.git("checkout", "-q", "--detach"); return "" },
		"in the middle of a merge": func(p *place) string {
			p.git("checkout", "-q", "-b", "side")
			p.write("side.txt", "side\n")
			p.commit()
			p.git("checkout", "-q", "main")
			p.git("merge", "-q", "--no-commit", "--no-ff", "side")
			return ""
		},
		"with files promised": func(p *place) string {
			p.write("promised.txt", "p\n")
			p.git("add", "-N", "promised.txt")
			p.remove("promised.txt")
			return ""
		},
		"assumed unchanged": func(p *place) string {
			p.git("update-index", "--assume-unchanged",
				"sub/b.txt")
			return ""
		},
		"shallow": func(p *place) string {
			from := p.dir
			p.write("more", "m\n")
			p.commit()
			p.dir = filepath.Join(p.t.TempDir(), "shallow")
			p.gitIn(p.t.TempDir(), "clone", "-q", "--depth", "1", "file://"+from, p.dir)
			return ""
		},
		"borrowing objects": func(p *place) string {
			from := p.dir
			p.dir = filepath.Join(p.t.TempDir(), "shared")
			p.gitIn(p.t.TempDir(), "clone", "-q", "--shared", from, p.dir)
			return ""
		},
		"a linked work tree": func(p *place) string {
			main := p.dir
			other := filepath.Join(p.t.TempDir(), "other")
			p.git("worktree", "add", "-q", other)
			p.dir = other
			return main
		},
		"a .git file": func(p *place) string {
			git := filepath.Join(p.t.TempDir(), "elsewhere.git")
			p.git("init", "-q", "--separate-git-dir", git)
			return git
		},
		"packed": func(p *place) string { p.git("gc", "-q"); return "" },
		"sparse, with an index of folders": func(p *place) string {
			p.git("sparse-checkout", "set", "--cone", "--sparse-index", "other")
			return ""
		},
		"locked": func(p *place) string { p.write(".git/index.lock", ""); p.write(".git/HEAD.lock", ""); return "" },
		"with a cache of untracked files": func(p *place) string {
			p.git("config", "core.untrackedCache", "true")
			p.git("update-index", "--untracked-cache")
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRepo(t)
			p.svc.anywhere = true
			git := prepare(p)
			before := p.checkpoint()
			p.write("a.txt", "changed\n")
			p.write("new.txt", "new\n")
			frozen, elsewhere := p.freeze(), func() {}
			if git != "" {
				outside := *p
				outside.dir = git
				elsewhere = outside.freeze()
			}
			want := []string{"M a.txt +1 −3", "A new.txt +1 −0"}
			p.want(summary(p.compare(before, p.look("a.txt", "new.txt"))), want...)
			p.want(summary(p.compare(before, p.checkpoint())), want...)
			if _, err := p.svc.Uncommitted(t.Context(), session, []string{p.dir}); err != nil {
				t.Error(err)
			}
			if _, err := p.svc.Branch(t.Context(), session, []string{p.dir}); err != nil {
				t.Error(err)
			}
			p.folders()
			frozen()
			elsewhere()
			if _, err := os.Stat(p.path("ran")); err == nil {
				t.Error("a hook ran")
			}
			p.git("fsck", "--strict", "--no-dangling")
		})
	}
}

// A bare repository has no work tree: the directory's files count as they are.
func TestBareRepository(t *testing.T) {
	p := newPlace(t)
	p.git("init", "-q", "--bare")
	before := p.checkpoint()
	p.write("x.txt", "x\n")
	p.want(summary(p.compare(before, p.checkpoint())), "A x.txt +1 −0")
}
