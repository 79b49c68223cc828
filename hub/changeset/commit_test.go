package changeset

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

func (p *place) hook(name, script string) {
	p.t.Helper()
	p.write(".git/hooks/"+name, "#!/bin/sh\n"+script)
	p.mustSucceed(os.Chmod(p.path(".git/hooks/"+name), 0o755))
}

func TestCommit(t *testing.T) {
	p := newRepo(t)
	p.write("a.txt", "x\n")
	p.refused("no identity", func() error {
		_,
			err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"})
		return err
	}, "no author name")
	p.git("checkout", "-q", "--", "a.txt")
	p.identity()
	p.refused("nothing changed", func() error {
		_,
			err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"})
		return err
	}, "there is nothing to commit")
	p.write("a.txt", "one\n")
	p.write("new.txt", "new\n")
	p.refused("no message", func() error {
		_,
			err := p.commitWith(machine.Commit{Message: " \n", Name: "Ana"})
		return err
	}, "the message is empty")
	p.mustSucceed(p.stage("a.txt", nil))
	done, err := p.commitWith(machine.Commit{Message: "Shorten\n\n# not a comment\nwith a body\n", Name: "Ana <b> \n",
		Email: "ana@host"})
	p.mustSucceed(err)
	if done.Subject != "Shorten" || done.Files != 1 || done.Branch != "main" ||
		!strings.HasPrefix(p.git("rev-parse", "HEAD"), done.ID) {
		t.Errorf("it says %+v", done)
	}
	if got := p.git("log", "-1",
		"--format=%an <%ae> %cn <%ce> %b"); got != "Ana b <ana@host> Host <host@example.org> # not a comment\nwith a "+
		"body" {
		t.Errorf("the commit is %q", got)
	}
	p.want(summary(func() []machine.ChangedFile { _, f := p.uncommitted(); return f }()), "A new.txt +1 −0")
	if _, err = p.commitWith(machine.Commit{Message: "The rest", Name: "Ana"}); err != nil ||
		p.git("log", "-1", "--format=%ae") != "host@example.org" {
		t.Errorf("without an address: %v, %s", err, p.git("log", "-1", "--format=%ae"))
	}
}

func TestHooksOfACommit(t *testing.T) {
	p := newRepo(t)
	p.identity()
	p.write("a.txt", "edited\n")
	p.write("new.txt", "new\n")
	t.Setenv("AHPHUB_TOKEN", "secret")
	t.Setenv("GH_TOKEN", "secret")
	p.hook("pre-commit", "git ls-files '*.txt'\nenv | grep -c secret\nprintf '\\033[31mno good\\033[0m\\n' >&2\nexit 1\n")
	index, _ := os.ReadFile(p.path(".git/index"))
	_, err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"})
	var refused *machine.RefusedError
	if !errors.As(err, &refused) || refused.Output != "a.txt\nnew.txt\nsub/b.txt\n0\nno good" {
		t.Fatalf("got %v", err)
	}
	if now, _ := os.ReadFile(p.path(".git/index")); string(now) != string(index) {
		t.Error("the index is not what it was")
	}
	p.hook("pre-commit", "exit 0\n")
	p.hook("commit-msg", "echo \"reviewed by $GIT_AUTHOR_NAME\" >> \"$1\"\n")
	p.hook("post-commit", "touch ran\n")
	_, err = p.commitWith(machine.Commit{Message: "x\n", Name: "Ana"})
	p.mustSucceed(err)
	if got := p.git("log", "-1", "--format=%B"); got != "x\nreviewed by Ana" || p.read("ran") != "" {
		t.Errorf("the hooks made %q", got)
	}
}

// Looks do not wait for a running hook.
func TestLookDoesNotWaitForHooks(t *testing.T) {
	p := newRepo(t)
	p.identity()
	p.write("a.txt", "edited\n")
	p.hook("pre-commit", "touch started\nwhile ! test -e go; do sleep 0.01; done\nrm started go\n")
	tops, files := p.uncommitted()
	done := make(chan error, 1)
	go func() {
		_, err := p.svc.Commit(t.Context(), session, tops, files, machine.Commit{Message: "x", Name: "Ana"})
		done <- err
	}()
	for p.read("started") != "" { // the file is empty once it exists
		runtime.Gosched()
	}
	p.checkpoint()
	p.write("go", "")
	p.mustSucceed(<-done)
	if got := p.git("log", "-1", "--format=%s"); got != "x" || p.git("status", "--porcelain") != "" {
		t.Errorf("the commit is %q, %s", got, p.git("status", "--porcelain"))
	}
}

func TestCommitInTheMiddleOfSomething(t *testing.T) {
	p := newRepo(t)
	p.identity()
	p.git("checkout", "-q", "-b", "side")
	p.write("a.txt", "side\n")
	p.commit()
	p.git("checkout", "-q", "main")
	p.write("a.txt", "main\n")
	p.commit()
	for what, begin := range map[string][]string{"a rebase": {"rebase", "side"}, "a merge": {"merge", "side"},
		"a cherry-pick": {"cherry-pick", "side"}} {
		cmd := exec.Command("git", begin...)
		cmd.Dir = p.dir
		if cmd.Run() == nil {
			t.Fatalf("%s has no conflict", what)
		}
		p.write("a.txt", "solved\n")
		p.refused(what, func() error { _, err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"}); return err },
			what+" is in progress")
		p.want(p.staged())
		p.refused("lines of a conflict", func() error { return p.stage("a.txt", &machine.Lines{From: 1, To: 1}) },
			"conflicts")
		p.mustSucceed(p.stage("a.txt", nil))
		if out := p.git("ls-files", "-u"); out != "" {
			t.Errorf("staging left conflicts: %s", out)
		}
		p.git(strings.Fields(what)[1], "--abort")
	}
}

func TestCreateBranch(t *testing.T) {
	p := newRepo(t)
	p.identity()
	p.write("a.txt", "edited\n")
	p.mustSucceed(p.stage("a.txt", nil))
	branch := func(name string) error {
		tops, _ := p.uncommitted()
		return p.svc.CreateBranch(t.Context(), session, tops, name)
	}
	for name, words := range map[string]string{"main": "already", "": "cannot be", "a b": "cannot be",
		"-x": "cannot be", "a..b": "cannot be", "x.lock": "cannot be", "@{-1}": "cannot be", "HEAD": "cannot be",
		"é/\x7f": "cannot be"} {
		p.refused(name, func() error { return branch(name) }, words)
	}
	index, _ := os.ReadFile(p.path(".git/index"))
	p.mustSucceed(branch("fix/typo é"[:8]))
	if now, _ := os.ReadFile(p.path(".git/index")); string(now) != string(index) {
		t.Error("the index changed")
	}
	if got := p.git("symbolic-ref", "HEAD"); got != "refs/heads/fix/typo" || p.read("a.txt") != "edited\n" {
		t.Errorf("HEAD is %s", got)
	}
	p.refused("below a branch", func() error { return branch("main/sub") }, "git reported")
}

// Operations in unusual repositories.
func TestOperationsInOddPlaces(t *testing.T) {
	round := func(p *place, path, content string) {
		p.t.Helper()
		p.write(path, content)
		p.mustSucceed(p.stage(path, nil))
		p.want(p.staged(), path+" all")
		p.mustSucceed(p.unstage(path, nil))
		undo, err := p.discard(path, nil)
		p.mustSucceed(err)
		p.mustSucceed(p.svc.TakeBack(p.t.Context(), session, undo))
		if p.read(path) != content {
			p.t.Errorf("%s is %q", path, p.read(path))
		}
		tops, _ := p.uncommitted()
		p.mustSucceed(p.svc.CreateBranch(p.t.Context(), session, tops, "new-one"))
		done, err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"})
		p.mustSucceed(err)
		if done.Branch != "new-one" {
			p.t.Errorf("it was committed to %q", done.Branch)
		}
		_, files := p.uncommitted()
		p.want(summary(files))
	}
	t.Run("no commit", func(t *testing.T) {
		p := newPlace(t)
		p.git("init", "-q", "-b", "main")
		p.identity()
		round(p, "a.txt", "first\n")
	})
	t.Run("no repository", func(t *testing.T) {
		p := newPlace(t)
		p.write("a.txt", "a\n")
		for what, do := range map[string]func() error{
			"stage": func() error { return p.stage("a.txt", nil) },
			"branch": func() error {
				tops, _ := p.uncommitted()
				return p.svc.CreateBranch(t.Context(), session, tops, "x")
			},
			"commit": func() error { _, err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"}); return err },
		} {
			if err := do(); !errors.Is(err, machine.ErrConflict) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if s, err := p.svc.Staging(t.Context(), session, []string{p.dir}); err != nil || s.Repositories != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("linked worktree", func(t *testing.T) {
		p := newRepo(t)
		p.identity()
		main := p.freezeIndex()
		other := filepath.Join(t.TempDir(), "other")
		p.git("worktree", "add", "-q", other)
		p.dir = other
		round(p, "a.txt", "edited\n")
		main()
	})
	t.Run(".git is a file", func(t *testing.T) {
		p := newPlace(t)
		p.svc.anywhere = true
		p.git("init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere.git"))
		p.identity()
		p.write("a.txt", "a\n")
		p.commit()
		round(p, "a.txt", "edited\n")
	})
	t.Run("subdirectory", func(t *testing.T) {
		p := newRepo(t)
		p.identity()
		p.write("a.txt", "not of the session\n")
		p.git("add", "a.txt")
		p.dir = p.path("sub")
		p.write("b.txt", "edited\n")
		p.mustSucceed(p.stage("sub/b.txt", nil))
		p.refused("a commit of what is not seen", func() error {
			_, err := p.commitWith(machine.Commit{Message: "x",
				Name: "Ana"})
			return err
		}, "a.txt is staged but outside of this directory")
		tops, _ := p.uncommitted()
		_, err := p.svc.Unstage(t.Context(), session, tops, nil, nil)
		p.mustSucceed(err)
		if out := p.git("diff", "--cached", "--name-only"); out != "a.txt" {
			t.Errorf("unstaging a directory left %s", out)
		}
	})
	t.Run("sparse checkout", func(t *testing.T) {
		p := newRepo(t)
		p.identity()
		p.git("sparse-checkout", "set", "--cone", "other")
		round(p, "a.txt", "edited\n")
		if out := p.git("ls-files", "-t", "sub"); out != "S sub/b.txt" {
			t.Errorf("what is not checked out is %q", out)
		}
	})
	t.Run("split index", func(t *testing.T) {
		p := newRepo(t)
		p.identity()
		p.git("update-index", "--split-index")
		round(p, "a.txt", "edited\n")
	})
	t.Run("sha256", func(t *testing.T) {
		p := newPlace(t)
		p.git("init", "-q", "--object-format=sha256")
		p.identity()
		p.write("a.txt", "a\n")
		p.commit()
		p.write("new.txt", "x\n")
		p.mustSucceed(p.stage("new.txt", &machine.Lines{From: 1, To: 1}))
		p.mustSucceed(p.unstage("new.txt", nil))
		p.remove("new.txt")
		round(p, "a.txt", "edited\n")
	})
	t.Run("line ends translated", func(t *testing.T) {
		p := newPlace(t)
		p.git("init", "-q")
		p.identity()
		p.git("config", "core.autocrlf", "true")
		p.write("a.txt", "one\r\ntwo\r\n")
		p.commit()
		p.write("a.txt", "one\r\n2\r\n3\r\n")
		p.mustSucceed(p.stage("a.txt", &machine.Lines{From: 2, To: 2}))
		if got := p.indexed("a.txt"); got != "one\n2\n" {
			t.Errorf("the index has %q", got)
		}
		p.mustSucceed(p.unstage("a.txt", nil))
		round(p, "a.txt", "one\r\nedited\r\n")
	})
	t.Run("submodule", func(t *testing.T) {
		inner := newRepo(t)
		p := newRepo(t)
		p.identity()
		p.git("submodule", "--quiet", "add", inner.dir, "inner")
		p.commit()
		inner.dir = p.path("inner")
		inner.write("a.txt", "x\n")
		inner.commit()
		p.mustSucceed(p.stage("inner", nil))
		p.want(p.staged(), "inner all")
		p.mustSucceed(p.unstage("inner", nil))
		p.refused("discarding a submodule's commit", func() error { _, err := p.discard("inner", nil); return err },
			"is a submodule")
	})
	t.Run("a repository inside", func(t *testing.T) {
		p := newRepo(t)
		p.write("clone/x", "x")
		p.gitIn(p.path("clone"), "init", "-q")
		p.refused("staging it", func() error { return p.stage("clone", nil) }, "a separate git repository")
	})
	t.Run("index locked", func(t *testing.T) {
		p := newRepo(t)
		p.identity()
		p.write("a.txt", "x\n")
		p.write(".git/index.lock", "")
		for what, do := range map[string]func() error{
			"stage":       func() error { return p.stage("a.txt", nil) },
			"stage lines": func() error { return p.stage("a.txt", &machine.Lines{From: 1, To: 1}) },
			"commit": func() error {
				_,
					err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"})
				return err
			},
		} {
			if err := do(); !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(),
				"has locked the index") {
				t.Errorf("%s: %v", what, err)
			}
		}
		p.remove(".git/index.lock")
		p.mustSucceed(p.stage("a.txt", nil))
		p.write(".git/index.lock", "")
		if err := p.unstage("a.txt", nil); !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(),
			"locked") {
			t.Errorf("unstage: %v", err)
		}
	})
}

// freezeIndex records git's view of the index and HEAD.
func (p *place) freezeIndex() func() {
	dir := p.dir
	say := func() string { return p.gitIn(dir, "ls-files", "-s") + p.gitIn(dir, "symbolic-ref", "HEAD") }
	was := say()
	return func() {
		if now := say(); now != was {
			p.t.Errorf("%s, was %s", now, was)
		}
	}
}

func TestGuestsCommitUnderAnAddressOfTheHost(t *testing.T) {
	for name, want := range map[string]string{"Ben Wu": "ben.wu", "Zoë": "zo", "…": "guest", "a@b.c": "ab.c"} {
		if got := localPart(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
