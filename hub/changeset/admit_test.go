package changeset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// secrets creates a repository elsewhere, which must be hidden from sessions of other directories.
func (p *place) secrets() *place {
	p.t.Helper()
	other := *p
	other.dir = filepath.Join(p.t.TempDir(), "elsewhere")
	p.mustSucceed(os.Mkdir(other.dir, 0o755))
	other.git("init", "-q", "-b", "main")
	other.write("secret.txt", "secret\n")
	other.commit()
	other.write("secret.txt", "secret and changed\n")
	return &other
}

// put writes a file that leads elsewhere.
func (p *place) put(name, content string) {
	p.t.Helper()
	p.mustSucceed(os.RemoveAll(p.path(name)))
	p.write(name, content)
}

func (p *place) putLink(to, name string) {
	p.t.Helper()
	p.mustSucceed(os.RemoveAll(p.path(name)))
	p.link(to, name)
}

// waysOut are the ways a repository can lead to another one, with the file responsible.
var waysOut = map[string]struct {
	by   string
	lead func(p, other *place)
}{
	"a work tree that is configured": {".git/config", func(p, other *place) {
		p.git("config", "core.worktree",
			other.dir)
	}},
	"one of the work tree's own settings": {".git/config.worktree", func(p, other *place) {
		p.git("config", "core.repositoryFormatVersion", "1")
		p.git("config", "extensions.worktreeConfig", "true")
		p.put(".git/config.worktree", "[core]\n\tworktree = "+other.dir+"\n")
	}},
	"the root directory": {".git/config", func(p, other *place) { p.git("config", "core.worktree", "/") }},
	"a .git file":        {".git", func(p, other *place) { p.put(".git", "gitdir: "+other.path(".git")+"\n") }},
	"a .git link":        {".git", func(p, other *place) { p.putLink(other.path(".git"), ".git") }},
	"a .git file to a link": {".git", func(p, other *place) {
		p.putLink(other.path(".git"), "x")
		p.put(".git",
			"gitdir: x\n")
	}},
	"a common directory": {".git/commondir", func(p, other *place) {
		p.put(".git/commondir", other.path(".git")+
			"\n")
	}},
	"a git directory in the work tree, and another common one": {"x/commondir", func(p, other *place) {
		p.mustSucceed(os.Rename(p.path(".git"), p.path("x")))
		p.put(".git", "gitdir: x\n")
		p.put("x/commondir", other.path(".git")+"\n")
		p.put("x/gitdir", p.path(".git")+"\n")
	}},
	"a linked work tree of another directory": {".git", func(p, other *place) {
		theirs := filepath.Join(p.t.TempDir(), "linked")
		other.git("worktree", "add", "-q", theirs)
		p.put(".git", "gitdir: "+other.path(".git/worktrees/linked")+"\n")
	}},
	"a submodule of another directory": {".git", func(p, other *place) {
		of := newRepo(p.t)
		other.git("submodule", "--quiet", "add", of.dir, "inner")
		p.put(".git", "gitdir: "+other.path(".git/modules/inner")+"\n")
	}},
	"objects that are borrowed": {".git/objects/info/alternates", func(p, other *place) {
		p.put(".git/objects/info/alternates", other.path(".git/objects")+"\n")
	}},
	"a quoted path of them": {".git/objects/info/alternates", func(p, other *place) {
		p.put(".git/objects/info/alternates", "# none\n\""+other.path(".git/objects")+"\"\n")
	}},
	"a relative path of them": {".git/objects/info/alternates", func(p, other *place) {
		rel, err := filepath.Rel(p.path(".git/objects"), other.path(".git/objects"))
		p.mustSucceed(err)
		p.put(".git/objects/info/alternates", rel+"\n")
	}},
	"objects borrowed in two steps": {"x/info/alternates", func(p, other *place) {
		p.mustSucceed(os.MkdirAll(p.path("x/pack"), 0o755))
		p.put("x/info/alternates", other.path(".git/objects")+"\n")
		p.put(".git/objects/info/alternates", p.path("x")+"\n")
	}},
	"a link to objects": {".git/objects", func(p, other *place) {
		p.putLink(other.path(".git/objects"),
			".git/objects")
	}},
	"a link to some objects": {".git/objects/pack", func(p, other *place) {
		p.putLink(other.path(".git/objects/pack"), ".git/objects/pack")
	}},
	"a link to branches": {".git/refs", func(p, other *place) { p.putLink(other.path(".git/refs"), ".git/refs") }},
	"a link to a branch": {".git/refs/heads/main", func(p, other *place) {
		p.putLink(other.path(".git/refs/heads/main"), ".git/refs/heads/main")
	}},
	"a link to an index": {".git/index", func(p, other *place) { p.putLink(other.path(".git/index"), ".git/index") }},
	"a link to what is checked out": {".git/HEAD", func(p, other *place) {
		p.putLink(other.path(".git/HEAD"), ".git/HEAD")
	}},
	"a link to what is ignored": {".git/info/exclude", func(p, other *place) {
		p.putLink(other.path("secret.txt"), ".git/info/exclude")
	}},
}

// copied returns a copy of the place, made without git.
func (p *place) copied() *place {
	p.t.Helper()
	c := *p
	c.dir, c.data = filepath.Join(p.t.TempDir(), "work tree"), filepath.Join(p.t.TempDir(), "checkpoints")
	c.svc = New(Config{Dir: c.data})
	p.mustSucceed(os.CopyFS(c.dir, os.DirFS(p.dir)))
	return &c
}

// A repository that leads to another one shows nothing of it without the owner's grant; the error
// names the file.
func TestRepositoryLeadingElsewhereIsRefused(t *testing.T) {
	like := newRepo(t)
	other := like.secrets()
	for name, way := range waysOut {
		t.Run(name, func(t *testing.T) {
			p := like.copied()
			p.checkpoint()
			way.lead(p, other)
			refused := func(what string, err error) {
				t.Helper()
				out, ok := errors.AsType[*machine.OutsideError](err)
				if !ok || out.By != p.path(way.by) || !strings.Contains(err.Error(), "allow it in the inbox") {
					t.Errorf("%s: got %v, want that %s leads elsewhere", what, err, p.path(way.by))
				} else if strings.Contains(err.Error(), other.dir) {
					t.Errorf("%s: a viewer is told where it leads: %v", what, err)
				}
			}
			p.eachRead(refused)
			if err := p.svc.Walk(t.Context(), session, []string{p.dir}, nil, func(f Folder) error {
				if inside(f.Path, other.dir) {
					t.Errorf("%s is watched", f.Path)
				}
				return nil
			}); err != nil {
				refused("folders to watch", err)
			}
			if name != "the root directory" { // the root directory is too large
				p.isGranted(name, other)
			}
		})
	}
}

// eachRead calls every method that runs git on a repository, for reading or acting.
func (p *place) eachRead(told func(what string, err error)) {
	p.t.Helper()
	ctx, dirs := p.t.Context(), []string{p.dir}
	_, err := p.svc.Look(ctx, session, dirs, []string{p.path("a.txt")})
	told("a look", err)
	_, err = p.svc.Checkpoint(ctx, session, dirs)
	told("a checkpoint", err)
	_, err = p.svc.Head(ctx, session, dirs)
	told("the last commit", err)
	_, err = p.svc.Staging(ctx, session, dirs)
	told("the index", err)
	_, err = p.svc.Files(ctx, session, dirs, 10)
	told("a list of files", err)
	_, err = p.svc.Refs(ctx, session, p.dir, "", 10)
	told("branches", err)
	_, err = p.svc.CheckedOut(ctx, session, p.dir)
	told("what is checked out", err)
	_, err = p.svc.Stage(ctx, session, []machine.Tree{{Dir: p.dir, Top: p.dir}},
		[]machine.ChangedFile{{Top: p.dir, Path: "a.txt"}}, nil)
	told("staging", err)
	_, _, err = p.svc.AddWorktree(ctx, session, machine.NewWorktree{Dir: p.dir, Name: "w", Branch: "b"})
	told("a work tree", err)
}

// isGranted grants access and looks again: the other repository is visible, and the error named the
// same file.
func (p *place) isGranted(name string, other *place) {
	p.t.Helper()
	asked, granted := map[string]string{}, session
	for {
		_, err := p.svc.Checkpoint(p.t.Context(), granted, []string{p.dir})
		out, leads := errors.AsType[*machine.OutsideError](err)
		if err != nil && !leads || leads && asked[out.By] != "" {
			p.t.Error(err)
		}
		if !leads || asked[out.By] != "" {
			break
		}
		asked[out.By] = out.Path
		granted.Granted = append(granted.Granted, out.Outside)
	}
	if to := asked[p.path(waysOut[name].by)]; !inside(to, other.dir) {
		p.t.Errorf("asked for are %v", asked)
	}
}

// These layouts need no grant.
func TestLayoutsWithoutGrant(t *testing.T) {
	for name, make := range map[string]func(p *place) (dirs []string){
		"a directory below the top": func(p *place) []string { return []string{p.path("sub")} },
		"a work tree that is its own": func(p *place) []string {
			p.git("config", "core.worktree",
				"..")
			return []string{p.dir}
		},
		"a linked work tree, and below it": func(p *place) []string {
			at := filepath.Join(p.t.TempDir(), "linked")
			p.git("worktree", "add", "-q", at)
			return []string{filepath.Join(at, "sub")}
		},
		"a linked work tree of a bare repository": func(p *place) []string {
			bare, at := filepath.Join(p.t.TempDir(), "bare.git"), filepath.Join(p.t.TempDir(), "linked")
			p.git("clone", "-q", "--bare", ".", bare)
			p.gitIn(bare, "worktree", "add", "-q", at)
			return []string{at}
		},
		"a submodule alone": func(p *place) []string {
			of := newRepo(p.t)
			p.git("submodule", "--quiet", "add", of.dir, "inner")
			return []string{p.path("inner")}
		},
		"a submodule with settings of its work tree": func(p *place) []string {
			of := newRepo(p.t)
			p.git("submodule", "--quiet", "add", of.dir, "inner")
			p.gitIn(p.path("inner"), "config", "extensions.worktreeConfig", "true")
			p.gitIn(p.path("inner"), "config", "--worktree", "core.worktree", "../../../inner")
			p.gitIn(p.path("inner"), "config", "--unset", "core.worktree")
			return []string{p.path("inner")}
		},
		"a link to a directory": func(p *place) []string {
			at := filepath.Join(p.t.TempDir(), "link")
			p.mustSucceed(os.Symlink(p.dir, at))
			return []string{at}
		},
		"a git directory elsewhere in the session": func(p *place) []string {
			git := filepath.Join(p.t.TempDir(), "git")
			p.mustSucceed(os.Rename(p.path(".git"), git))
			p.put(".git", "gitdir: "+git+"\n")
			return []string{p.dir, git}
		},
		"objects borrowed from the same directory": func(p *place) []string {
			p.git("clone", "-q", "--shared", ".", "inner")
			return []string{p.dir, p.path("inner")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRepo(t)
			dirs := make(p)
			of := session
			switch name {
			case "objects borrowed from the same directory":
				of.Dirs = dirs
			case "a git directory elsewhere in the session":
				of.Dirs, dirs = dirs[1:], dirs[:1]
			}
			c, err := p.svc.Checkpoint(t.Context(), of, dirs)
			if err != nil || c.Trees[0].Top == "" || c.Trees[0].OID == "" {
				t.Fatalf("got %v: %v", c, err)
			}
			out, err := p.svc.CheckedOut(t.Context(), of, dirs[0])
			if err != nil || out.Branch+out.Commit == "" {
				t.Errorf("checked out is %+v: %v", out, err)
			}
		})
	}
}

// A submodule whose .git leads elsewhere keeps its former commit; the other repository's is not
// shown.
func TestNestedRepositoryLeadingElsewhere(t *testing.T) {
	of, p := newRepo(t), newRepo(t)
	p.git("submodule", "--quiet", "add", of.dir, "inner")
	p.commit()
	before := p.checkpoint()
	other := p.secrets()
	p.put("inner/.git", "gitdir: "+other.path(".git")+"\n")
	t.Cleanup(func() { p.mustSucceed(os.RemoveAll(p.dir)) })
	after := p.checkpoint()
	p.want(summary(p.compare(before, after)), "A inner (its repository is elsewhere)")
	for _, name := range p.folders() {
		if strings.HasPrefix(name, other.dir) {
			t.Errorf("%s is watched", name)
		}
	}
}

// The check runs at each look: a repository that now leads elsewhere is refused.
func TestLayoutIsLookedAtEachTime(t *testing.T) {
	p := newRepo(t)
	other := p.secrets()
	p.checkpoint()
	p.look("a.txt")
	alternates := ".git/objects/info/alternates"
	p.write(alternates, other.path(".git/objects")+"\n")
	_, err := p.svc.Look(t.Context(), session, []string{p.dir}, []string{p.path("a.txt")})
	if out, ok := errors.AsType[*machine.OutsideError](err); !ok || out.Path != other.path(".git/objects") {
		t.Errorf("got %v", err)
	}
	p.remove(alternates)
	p.look("a.txt")
}

// A repository that starts to lead elsewhere while git reads it shows nothing of the target.
func TestLayoutChangesDuringLook(t *testing.T) {
	like := newRepo(t)
	other, want := like.secrets(), like.git("rev-parse", "HEAD^{tree}")
	for _, name := range []string{"a work tree that is configured", "a .git link"} {
		for at := range 4 { // git programs
			p := like.copied()
			before := p.checkpoint()
			var mu sync.Mutex
			p.svc.starting = func() {
				mu.Lock()
				defer mu.Unlock()
				if at--; at == 0 {
					waysOut[name].lead(p, other)
				}
			}
			head, err := p.svc.Head(t.Context(), session, []string{p.dir})
			if err == nil && head.Trees[0].OID != want {
				t.Errorf("%s: the last commit is %s, want %s", name, head.Trees[0].OID, want)
			}
			now, err := p.svc.Checkpoint(t.Context(), session, []string{p.dir})
			if err == nil && now.Trees[0].OID != before.Trees[0].OID {
				t.Errorf("%s: a look finds %v", name, now.Trees)
			}
		}
	}
}
