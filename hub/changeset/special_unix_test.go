//go:build unix

package changeset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
)

// mkfifo replaces a file with a named pipe.
func (p *place) mkfifo(name string) {
	p.t.Helper()
	p.mustSucceed(os.MkdirAll(filepath.Dir(name), 0o755))
	p.mustSucceed(os.RemoveAll(name))
	p.mustSucceed(syscall.Mkfifo(name, 0o600))
}

// wantSpecial checks for an error that names the pipe, instead of one of a killed git.
func (p *place) wantSpecial(what string, err error, name string) {
	p.t.Helper()
	special, ok := errors.AsType[*machine.SpecialFileError](err)
	if !ok || special.Path != name || !strings.Contains(err.Error(), "named pipe") {
		p.t.Errorf("%s: got %v, want an error about the named pipe %s", what, err, name)
	}
}

// lookEverywhere calls every method that reads a directory.
func (p *place) lookEverywhere(want func(what string, err error)) {
	dirs := []string{p.dir}
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Second) // a hang is an error too
	defer cancel()
	_, err := p.svc.Checkpoint(ctx, session, dirs)
	want("a checkpoint", err)
	_, err = p.svc.LookAtAll(ctx, session, dirs)
	want("a look at everything", err)
	_, err = p.svc.Look(ctx, session, dirs, []string{p.path("sub/b.txt")})
	want("a look at one file", err)
	_, err = p.svc.Files(ctx, session, dirs, 100)
	want("a list of files", err)
	want("a walk", p.svc.Walk(ctx, session, dirs, nil, func(Folder) error { return nil }))
}

// Git opens these files for any command, and would wait for a pipe forever. No git must run.
func TestSpecialControlFilesAreRefused(t *testing.T) {
	for _, name := range []string{".gitattributes", ".gitignore", ".gitmodules", ".mailmap", "sub/.gitattributes",
		"sub/.gitignore", "untracked/deep/.gitignore", ".git/HEAD", ".git/config", ".git/index",
		".git/packed-refs", ".git/info/exclude",
		".git/info/attributes", ".git/refs/heads/main", ".git/objects/info/alternates", ".git/commondir",
		"inner/.git/HEAD"} {
		t.Run(name, func(t *testing.T) {
			p := newRepo(t)
			// git fsck would fail
			t.Cleanup(func() { p.mustSucceed(os.Remove(p.path(name))); p.mustSucceed(os.RemoveAll(p.dir)) })
			if strings.HasPrefix(name, "inner/") {
				p.gitIn(p.dir, "init", "-q", "inner")
			}
			p.checkpoint()
			p.mkfifo(p.path(name))
			p.write("sub/b.txt", "changed\n")
			p.lookEverywhere(func(what string, err error) { p.wantSpecial(what, err, p.path(name)) })
			if strings.HasPrefix(name, ".git/") {
				_, err := p.svc.CheckedOut(t.Context(), session, p.dir)
				p.wantSpecial("what is checked out", err, p.path(name))
				_, err = p.svc.Refs(t.Context(), session, p.dir, "", 10)
				p.wantSpecial("branches", err, p.path(name))
			}
		})
	}
}

func TestSpecialFilesOfTheUserAreRefused(t *testing.T) {
	ignore := func(p *place) string { return filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "git", "ignore") }
	for name, c := range map[string]struct {
		at  func(p *place) string
		set func(p *place, name string)
	}{
		"the default file of what is ignored": {ignore, func(*place, string) {}},
		"a configured one": {func(p *place) string { return filepath.Join(t.TempDir(), "ignore") },
			func(p *place, name string) { p.git("config", "core.excludesFile", name) }},
		"a link to one": {func(p *place) string { return p.path(".gitignore") },
			func(p *place, name string) {
				p.mustSucceed(os.Rename(name, p.path("pipe")))
				p.link("pipe", ".gitignore")
			}},
		"settings that are included": {func(p *place) string { return p.path(".git/more") },
			func(p *place, name string) { p.git("config", "include.path", "more") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRepo(t)
			pipe := c.at(p)
			p.checkpoint()
			p.mustSucceed(os.MkdirAll(filepath.Dir(pipe), 0o755))
			defer func() { p.mustSucceed(os.RemoveAll(pipe)) }()
			if name == "a link to one" {
				p.mkfifo(pipe)
				c.set(p, pipe)
			} else {
				c.set(p, pipe)
				p.mkfifo(pipe)
			}
			p.lookEverywhere(func(what string, err error) { p.wantSpecial(what, err, pipe) })
		})
	}
	t.Run("the null device is no pipe", func(t *testing.T) {
		p := newRepo(t)
		p.git("config", "core.excludesFile", os.DevNull)
		p.link(os.DevNull, ".git/info/attributes")
		p.lookEverywhere(func(what string, err error) {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	})
}

// Directories that git does not enter may contain special files.
func TestSpecialFilesWhereGitDoesNotGo(t *testing.T) {
	p := newRepo(t)
	p.write(".gitignore", "out/\n/node_modules\n*.tmp\n!kept.tmp\n")
	for _, name := range []string{"out/.gitignore", "sub/out/deep/.gitattributes", "node_modules/.gitignore",
		"x.tmp/.gitignore", "sub/pipe"} {
		p.mkfifo(p.path(name))
	}
	p.lookEverywhere(func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	p.mkfifo(p.path("kept.tmp/.gitignore"))
	p.lookEverywhere(func(what string, err error) { p.wantSpecial(what, err, p.path("kept.tmp/.gitignore")) })
}

// Stored versions are compared with the current attributes.
func TestSpecialFilesStopComparisons(t *testing.T) {
	p := newRepo(t)
	before := p.checkpoint()
	p.write("sub/b.txt", "changed\n")
	after := p.checkpoint()
	p.mkfifo(p.path("sub/.gitattributes"))
	_, err := p.svc.Compare(t.Context(), session, before, after)
	p.wantSpecial("a comparison", err, p.path("sub/.gitattributes"))
	_, err = p.svc.Patch(t.Context(), session, before, after)
	p.wantSpecial("a patch", err, p.path("sub/.gitattributes"))
}

// A pipe in place of a tracked file is listed, and everything else is still read.
func TestPipeInPlaceOfATrackedFile(t *testing.T) {
	p := newRepo(t)
	before := p.checkpoint()
	p.mkfifo(p.path("a.txt"))
	p.write("sub/b.txt", "changed\n")
	p.want(summary(p.compare(before, p.checkpoint())), "A a.txt (a named pipe)", "M sub/b.txt +1 −1")
}

// A person's actions are refused before they start.
func TestSpecialFilesStopWriters(t *testing.T) {
	p := newRepo(t)
	p.identity()
	p.write("sub/b.txt", "changed\n")
	tops, files := p.uncommitted()
	w, _ := p.tree(p.dir)
	p.mkfifo(p.path("sub/.gitattributes"))
	refused := func(what string, err error) { p.wantSpecial(what, err, p.path("sub/.gitattributes")) }
	_, err := p.svc.Stage(t.Context(), session, tops, files, nil)
	refused("staging", err)
	_, err = p.svc.Commit(t.Context(), session, tops, files, machine.Commit{Message: "x", Name: "Ana"})
	refused("a commit", err)
	_, err = p.svc.PlanDiscard(t.Context(), session, tops, files, nil)
	refused("discarding", err)
	_, err = p.svc.MergeWorktree(t.Context(), session, w)
	refused("a merge", err)
	p.mustSucceed(os.Remove(p.path("sub/.gitattributes")))
	p.mkfifo(filepath.Join(w.Dir, ".gitignore"))
	_, err = p.svc.Standing(t.Context(), session, w)
	p.wantSpecial("a work tree", err, filepath.Join(w.Dir, ".gitignore"))
	p.mustSucceed(p.svc.RemoveWorktree(t.Context(), session, w, true)) // reads none of it
}

// A special file may appear between the check and git's read. Then git and its children are killed,
// the error names the file, and the slots are released.
func TestSpecialFileAfterTheCheck(t *testing.T) {
	p := newRepo(t)
	p.checkpoint()
	p.svc = New(Config{Dir: p.data, Reads: 200 * time.Millisecond, Checkpoint: 300 * time.Millisecond})
	p.write("sub/b.txt", "changed\n")
	pipe := p.path("sub/.gitattributes")
	for what, look := range map[string]func() error{
		"a look": func() error { _, err := p.svc.LookAtAll(t.Context(), session, []string{p.dir}); return err },
		"a list": func() error { _, err := p.svc.Files(t.Context(), session, []string{p.dir}, 10); return err },
	} {
		if what == "a list" { // reads only ignored files
			pipe = p.path("sub/.gitignore")
		}
		p.svc.starting = sync.OnceFunc(func() { p.mkfifo(pipe) })
		p.wantSpecial(what, look(), pipe)
		p.svc.starting = nil
		p.mustSucceed(os.Remove(pipe))
	}
	p.svc.slots.mu.Lock()
	if n := len(p.svc.slots.all) + len(p.svc.slots.own); n != 0 {
		t.Errorf("%d slots are taken still", n)
	}
	p.svc.slots.mu.Unlock()
	if left := children(t); len(left) > 0 {
		t.Errorf("programs are left behind: %v", left)
	}
	p.svc = New(Config{Dir: p.data})
	p.checkpoint()
}

// children lists this process's child processes, including zombies.
func children(t *testing.T) (pids []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	me := fmt.Sprintf(" %d ", os.Getpid())
	for _, name := range stats {
		data, _ := os.ReadFile(name) // may be gone
		if _, rest, ok := strings.Cut(string(data), ") "); ok && len(rest) > 2 && strings.HasPrefix(rest[1:], me) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}

// While many looks hang in one directory, other directories can still be read. A caller that gives
// up returns immediately, and leaves no process behind.
func TestHangingRepositoryLeavesSlots(t *testing.T) {
	p, other := newRepo(t), newRepo(t)
	p.svc = New(Config{Dir: p.data, Reads: time.Hour, Checkpoint: time.Hour})
	commit := p.git("rev-parse", "HEAD")
	object := p.path(".git/objects/" + commit[:2] + "/" + commit[2:]) // not checked in advance
	was, err := os.ReadFile(object)
	p.mustSucceed(err)
	p.mkfifo(object)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the page was closed")
	told := make(chan error)
	const many = 6
	for i := range many {
		go func() {
			_, err := p.svc.Head(ctx, machine.Workspace{Session: fmt.Sprint(session.Session, i)}, []string{p.dir})
			told <- err
		}()
	}
	for len(reading(t, "rev-parse")) < mostOfOne {
		runtime.Gosched()
	}
	c, err := p.svc.Checkpoint(t.Context(), session, []string{other.dir})
	if err != nil || len(c.Trees) != 1 {
		t.Errorf("another repository is not looked at: %v", err)
	}
	if n := len(reading(t, "rev-parse")); n != mostOfOne {
		t.Errorf("one repository takes %d slots", n)
	}
	cancel(why)
	for range many {
		if err := <-told; !errors.Is(err, why) {
			t.Errorf("got %v, want that %v", err, why)
		}
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("programs are left behind: %v", left)
	}
	p.mustSucceed(os.Remove(object))
	p.mustSucceed(os.WriteFile(object, was, 0o400))
}

// reading lists this process's git children that run a command.
func reading(t *testing.T, command string) (pids []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("programs are listed by /proc")
	}
	for _, pid := range children(t) {
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline") // may be gone
		if slices.Contains(strings.Split(string(line), "\x00"), command) {
			pids = append(pids, pid)
		}
	}
	return pids
}
