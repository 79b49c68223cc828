package changeset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
)

func TestKindsOfChange(t *testing.T) {
	p := newRepo(t)
	p.write("gone.txt", "gone\n")
	p.write("old name.txt", strings.Repeat("a line that stays\n", 20))
	p.write("run.sh", "#!/bin/sh\n")
	p.write("pic.bin", "a\x00b")
	p.write("link target", "x\n")
	p.write(".gitignore", "*.log\nbuild/\n")
	p.commit()
	got := p.changes(func() {
		p.write("a.txt", "one\nTWO\nthree\nfour\n")
		p.remove("gone.txt")
		p.remove("old name.txt")
		p.write("new \"näme\"\n.txt", strings.Repeat("a line that stays\n", 20)+"and one more\n")
		if err := os.Chmod(p.path("run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		p.write("pic.bin", "a\x00c")
		p.write("untracked.txt", "no newline")
		p.write("x.log", "ignored\n")
		p.write("build/out", "ignored\n")
		p.remove("link target")
		if err := os.Symlink("a.txt", p.path("link target")); err != nil {
			t.Fatal(err)
		}
	})
	p.want(got, "M a.txt +2 −1", "D gone.txt +0 −1", "T link target +1 −1 100644→120000",
		"R old name.txt → new \"näme\"\n.txt +1 −0", "M pic.bin binary", "M run.sh +0 −0 100644→100755",
		"A untracked.txt +1 −0")
}

func TestCheckpointIgnoresStaging(t *testing.T) {
	p := newRepo(t)
	got := p.changes(func() {
		p.write("staged.txt", "1\n")
		p.git("add", "staged.txt")
		p.write("staged.txt", "1\n2\n")
		p.git("rm", "-q", "--cached", "a.txt") // still there
	})
	p.want(got, "A staged.txt +2 −0")
}

func TestExcludesOfTheUser(t *testing.T) {
	p := newRepo(t)
	ignore := filepath.Join(t.TempDir(), "ignore")
	if err := os.WriteFile(ignore, []byte("*.mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.git("config", "core.excludesFile", ignore)
	p.write(".git/info/exclude", "*.local\n")
	p.want(p.changes(func() {
		p.write("a.mine", "x")
		p.write("a.local", "x")
		p.write("a.seen", "x\n")
	}), "A a.seen +1 −0")
}

func TestIgnoredLater(t *testing.T) {
	p := newRepo(t)
	p.write("forced.log", "tracked\n")
	p.commit()
	p.write("cache/x.log", "1\n")
	p.checkpoint()
	p.write(".gitignore", "*.log\n")
	c := p.checkpoint()
	p.write("cache/x.log", "2\n")
	p.write("forced.log", "tracked and changed\n")
	p.want(summary(p.compare(c, p.checkpoint())), "M forced.log +1 −1")
}

// TestNothingOfTheirsRuns sets traps where git would run a program.
func TestNothingOfTheirsRuns(t *testing.T) {
	p := newRepo(t)
	trap := filepath.Join(t.TempDir(), "trapped")
	script := p.path("trap.sh")
	p.write("trap.sh", "#!/bin/sh\ntouch '"+trap+"'\ncat\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-index-change", "pre-commit", "reference-transaction"} {
		p.write(".git/hooks/"+hook, "#!/bin/sh\ntouch '"+trap+"'\n")
		if err := os.Chmod(p.path(".git/hooks/"+hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write(".gitattributes", "*.txt filter=evil diff=evil\n")
	for _, kv := range [][2]string{{"core.fsmonitor", script}, {"filter.evil.clean", script},
		{"filter.evil.process", script},
		{"filter.evil.required", "true"}, {"diff.evil.textconv", script}, {"diff.evil.command", script},
		{"core.pager", script},
		{"diff.external", script}, {"core.sshCommand", script}} {
		p.git("config", kv[0], kv[1])
	}
	p.want(p.changes(func() { p.write("a.txt", "changed\n") }), "M a.txt +1 −3")
	if _, err := p.svc.Uncommitted(t.Context(), session, []string{p.dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a program of the repository's ran")
	}
}

func TestUncommitted(t *testing.T) {
	t.Run("with a commit", func(t *testing.T) {
		p := newRepo(t)
		p.write("a.txt", "one\ntwo\n")
		p.write("new.txt", "new\n")
		frozen := p.freeze()
		files, err := p.svc.Uncommitted(t.Context(), session, []string{p.dir})
		frozen()
		if err != nil {
			t.Fatal(err)
		}
		p.want(summary(files), "M a.txt +0 −1", "A new.txt +1 −0")
		if got := p.content(files[0].OldOID); got != "one\ntwo\nthree\n" {
			t.Errorf("the old version is %q", got)
		}
		if files[0].OldSize != 14 || files[0].NewSize != 8 || files[1].NewSize != 4 {
			t.Errorf("sizes are %d, %d and %d", files[0].OldSize, files[0].NewSize, files[1].NewSize)
		}
	})
	t.Run("without", func(t *testing.T) {
		p := newPlace(t)
		p.write("new.txt", "new\n")
		files, err := p.svc.Uncommitted(t.Context(), session, []string{p.dir})
		if err != nil {
			t.Fatal(err)
		}
		p.want(summary(files), "A new.txt +1 −0")
	})
}

func TestStandsAlone(t *testing.T) {
	p := newRepo(t)
	before := p.checkpoint()
	p.write("a.txt", "two\n")
	p.commit()
	after := p.checkpoint()
	p.git("fsck", "--strict")
	p.remove("") // everything borrowed is gone
	files := p.compare(before, after)
	p.want(summary(files), "M a.txt +0 −2")
	if got := p.content(files[0].OldOID); got != "one\ntwo\nthree\n" {
		t.Errorf("the old version is %q", got)
	}
	for _, git := range p.svc.repositories(session) {
		if err := os.Remove(filepath.Join(git, "objects/info/alternates")); err != nil {
			t.Fatal(err)
		}
		p.gitIn(t.TempDir(), "--git-dir="+git, "fsck", "--strict", "--no-dangling", before.Trees[0].OID,
			after.Trees[0].OID)
	}
}

func TestManyCheckpointsStayInFewPacks(t *testing.T) {
	p := newRepo(t)
	first := p.checkpoint()
	for i := range mostPacks + 5 {
		p.write("a.txt", strings.Repeat("x\n", i+1))
		p.checkpoint()
	}
	git := p.svc.repositories(session)[0]
	packs, err := filepath.Glob(filepath.Join(git, "objects/pack/*.pack"))
	if err != nil || len(packs) > mostPacks+1 {
		t.Errorf("there are %d packs, %v", len(packs), err)
	}
	p.remove(".git")
	files := p.compare(first, p.checkpoint())
	p.want(summary(files), "M a.txt +35 −3")
	if got := p.content(files[0].OldOID); got != "one\ntwo\nthree\n" {
		t.Errorf("the first version is %q", got)
	}
}

func TestLargeContentIsRefused(t *testing.T) {
	p := newRepo(t)
	p.write("big", strings.Repeat("x", 2000))
	files := p.compare(p.checkpoint(),
		func() machine.Checkpoint { p.write("big", strings.Repeat("y", 2000)); return p.checkpoint() }())
	p.svc = New(Config{Dir: p.data, OutputBytes: 1000})
	if _, err := p.svc.Content(t.Context(), session, files[0].OldOID); !errors.Is(err, machine.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestTooLargeIsListedNotStored(t *testing.T) {
	p := newRepo(t)
	p.svc = New(Config{Dir: p.data, FileBytes: 1 << 20, UntrackedBytes: 1<<20 + 10, UntrackedFiles: 5})
	big := strings.Repeat("x", 1<<20+1)
	p.want(p.changes(func() {
		p.write("a.big", big)
		p.write("b.fits", big[1:])
		p.write("c.second", "more than is left")
	}), "A a.big (larger than 1 MB)", "A b.fits +1 −0", "A c.second (more than 1 MB of untracked files)")
	p.want(p.changes(func() { p.write("a.big", big+"y") }), "M a.big (larger than 1 MB)")
	p.want(p.changes(func() { p.remove("a.big") }), "D a.big (larger than 1 MB)")
}

func TestUnreadableFileIsListed(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	p := newRepo(t)
	p.want(p.changes(func() {
		p.write("secret", "x\n")
		if err := os.Chmod(p.path("secret"), 0); err != nil {
			t.Fatal(err)
		}
		p.write("other", "x\n")
	}), "A other +1 −0", "A secret (may not be read)")
}

func TestOwnDataIsNotLookedInto(t *testing.T) {
	p := newPlace(t)
	p.svc = New(Config{Dir: p.path("data/checkpoints"), Ignore: func() []string { return []string{p.path("data")} }})
	p.write("data/db", "x")
	before := p.checkpoint()
	p.write("data/db", "y")
	p.write("seen", "z\n")
	p.want(summary(p.compare(before, p.checkpoint())), "A seen +1 −0")
}

func TestDirectoriesInsideOthersCountOnce(t *testing.T) {
	p := newRepo(t)
	c, err := p.svc.Checkpoint(t.Context(), session, []string{p.path("sub"), p.dir, p.dir + "/"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Trees) != 1 || c.Trees[0].Dir != p.dir {
		t.Errorf("the trees are %+v", c.Trees)
	}
}

func TestDrop(t *testing.T) {
	p := newRepo(t)
	files := p.compare(p.checkpoint(), p.checkpoint())
	if len(files) != 0 {
		t.Errorf("nothing changed, got %v", summary(files))
	}
	if err := p.svc.Drop(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(p.data); len(left) != 0 {
		t.Errorf("%d directories are left", len(left))
	}
	if err := p.svc.Drop(t.Context(), session); err != nil {
		t.Errorf("dropping twice: %v", err)
	}
}

func TestContentOfNothing(t *testing.T) {
	p := newRepo(t)
	tree := p.checkpoint().Trees[0].OID
	for _, oid := range []string{strings.Repeat("0", 40), tree, "HEAD", "--help", ""} {
		if _, err := p.svc.Content(t.Context(), session, oid); !errors.Is(err, machine.ErrNoContent) {
			t.Errorf("%q: got %v, want ErrNoContent", oid, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	p := newRepo(t)
	why := errors.New("the session ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := p.svc.Checkpoint(ctx, session, []string{p.dir}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestSlowGitIsEnded(t *testing.T) {
	p := newPlace(t)
	slow := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nsleep 60 & sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.svc = New(Config{Dir: p.data, Git: slow, Checkpoint: 50 * time.Millisecond})
	start := time.Now()
	_, err := p.svc.Checkpoint(t.Context(), session, []string{p.dir})
	if err == nil || !strings.Contains(err.Error(), "within 50ms") || time.Since(start) > 10*time.Second {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
}

func TestTooMuchOutput(t *testing.T) {
	p := newPlace(t)
	p.svc = New(Config{Dir: p.data, OutputBytes: 100})
	for i := range 20 {
		p.write("a file with a long name "+strings.Repeat("x", i), "")
	}
	if _, err := p.svc.Checkpoint(t.Context(), session, []string{p.dir}); !errors.Is(err, machine.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestLeftOverLockIsTaken(t *testing.T) {
	p := newRepo(t)
	before := p.checkpoint()
	for _, git := range p.svc.repositories(session) {
		if err := os.WriteFile(filepath.Join(git, "index.lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.write("a.txt", "x\n")
	p.want(summary(p.compare(before, p.checkpoint())), "M a.txt +1 −3")
}

func TestMissingDirectory(t *testing.T) {
	p := newPlace(t)
	if _, err := p.svc.Checkpoint(t.Context(), session, []string{p.path("nowhere")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
