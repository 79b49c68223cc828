package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

func (c *changing) mkdir(name string) {
	c.t.Helper()
	c.must(os.MkdirAll(filepath.Join(c.dir, name), 0o755))
}

// replace writes a file in one step, which the system reports once.
func (c *changing) replace(name, content string) {
	c.t.Helper()
	part := filepath.Join(c.t.TempDir(), "part")
	c.must(os.WriteFile(part, []byte(content), 0o600))
	c.must(os.Rename(part, filepath.Join(c.dir, name)))
}

func (c *changing) commit(message string) {
	c.t.Helper()
	c.git("add", "-A")
	c.git("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "commit", "-q", "--allow-empty", "-m", message)
}

// watched waits until the system reports writes.
func (c *changing) watched() {
	c.t.Helper()
	c.until("the directories were looked at", func() bool {
		at := c.host.Changes.Status(session)
		return at.Watched && !at.Busy
	})
}

// The system reports each of these writes. No full look happens unless a file was written that
// affects which files are checked.
func TestWritesShow(t *testing.T) {
	for name, step := range map[string]struct {
		do   func(c *changing)
		want string
	}{
		"a lock file of packages": {func(c *changing) { c.write("yarn.lock", "x\n") }, "A yarn.lock +1 −0"},
		"in a folder made before": {func(c *changing) { c.write("empty/deep/x", "x\n") }, "A empty/deep/x +1 −0"},
		"in folders made just now": {func(c *changing) { c.mkdir("d/e/f"); c.write("d/e/f/x", "x\n") },
			"A d/e/f/x +1 −0"},
		"what is ignored": {func(c *changing) { c.write("out/x", "x\n"); c.write("b.txt", "b\n") },
			"A b.txt +1 −0"},
		"what is tracked and ignored": {func(c *changing) { c.write("out/kept", "2\n") }, "M out/kept +1 −1"},
		"a mode": {func(c *changing) { c.must(os.Chmod(filepath.Join(c.dir, "a.txt"), 0o700)) },
			"M a.txt +0 −0"},
		"a folder that moves": {func(c *changing) {
			c.must(os.Rename(filepath.Join(c.dir, "sub"),
				filepath.Join(c.dir, "bus")))
		}, "R bus/s.txt +0 −0"},
		"a folder that is gone": {func(c *changing) { c.must(os.RemoveAll(filepath.Join(c.dir, "sub"))) },
			"D sub/s.txt +0 −1"},
		"what is ignored from now on": {func(c *changing) {
			c.write("seen", "s\n")
			c.write(".gitignore",
				"out/\nseen\n")
		}, "M .gitignore +1 −0"},
		"what is not ignored any more": {func(c *changing) { c.write("out/x", "x\n"); c.write(".gitignore", "\n") },
			"M .gitignore +1 −1; A out/x +1 −0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChanging(t)
			c.mkdir("empty/deep")
			c.mkdir("out")
			c.mkdir("sub")
			c.write("out/kept", "1\n")
			c.write("sub/s.txt", "s\n")
			c.write(".gitignore", "out/\n")
			c.git("add", "-f", "out/kept")
			c.commit("second")
			uri := c.follow("uncommitted", "")
			c.watched()
			step.do(c)
			c.shows(uri, step.want)
		})
	}
}

// The user's commits and moved branches show.
func TestCommitsAndBranchesShow(t *testing.T) {
	c := newChanging(t)
	c.git("branch", "-M", "main")
	c.git("checkout", "-q", "-b", "feature/one")
	uncommitted, branch := c.follow("uncommitted", ""), c.follow("branch", "")
	c.watched()
	c.write("a.txt", "one\n")
	c.shows(uncommitted, "M a.txt +0 −1")
	c.shows(branch, "M a.txt +0 −1")
	c.commit("second")
	c.shows(uncommitted, "")
	c.shows(branch, "M a.txt +0 −1")
	c.git("reset", "-q", "--soft", "HEAD~1") // keeps the index and the files
	c.shows(uncommitted, "M a.txt +0 −1")
	c.commit("second again")
	c.shows(uncommitted, "")
	c.git("branch", "-f", "main", "HEAD") // only a branch changes
	c.shows(branch, "")
}

// A commit of a nested repository is a change of the outer one.
func TestCommitsOfAnInnerRepositoryShow(t *testing.T) {
	c := newChanging(t)
	inner := func(args ...string) {
		c.git(append([]string{"-C", "inner", "-c", "user.name=Ana", "-c", "user.email=ana@example.org"}, args...)...)
	}
	c.git("init", "-q", "inner")
	inner("commit", "-q", "--allow-empty", "-m", "one")
	c.commit("with an inner one")
	uri := c.follow("uncommitted", "")
	c.watched()
	c.shows(uri, "")
	inner("commit", "-q", "--allow-empty", "-m", "two")
	c.shows(uri, "M inner +1 −1")
}

func TestIgnoredFoldersAreNotWatched(t *testing.T) {
	c := newChanging(t)
	c.write(".gitignore", "out/\n")
	c.mkdir("out/many/folders")
	c.mkdir("src/deep")
	seen := watchedFolders(t, c)
	for name, want := range map[string]bool{"": true, "src/deep": true, "out": false, "out/many": false, ".git": true,
		".git/objects": false, ".git/refs/heads": true} {
		if got := seen[filepath.Join(c.dir, name)]; got != want {
			t.Errorf("%q is watched: %v", name, got)
		}
	}
}

func watchedFolders(t *testing.T, c *changing) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	svc := changeset.New(changeset.Config{Dir: t.TempDir()})
	c.must(svc.Walk(t.Context(), machine.Workspace{Session: session}, []string{c.dir}, nil,
		func(f changeset.Folder) error { seen[f.Path] = true; return nil }))
	return seen
}

// If there are more folders than can be watched, files are polled, and viewers are informed.
func TestTooManyFoldersAreLookedAtFromTimeToTime(t *testing.T) {
	c := newChangingWith(t, Config{Limits: core.Limits{Folders: 2}})
	uri := c.follow("uncommitted", "")
	c.until("it is said", func() bool { return changes.ReadWatching(c.session().Meta).Polling })
	w := changes.ReadWatching(c.session().Meta)
	if w.Seconds != 10 || !strings.Contains(w.Why, "more than 2 directories") {
		t.Errorf("it says %+v", w)
	}
	c.write("a.txt", "one\n")
	c.shows(uri, "M a.txt +0 −1")
}

// statuses collects the statuses that a subscriber of a changeset receives.
type statuses struct {
	mu  sync.Mutex
	got []string
}

func (s *statuses) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func followStatus(c *changing, uri ahp.URI) *statuses {
	c.t.Helper()
	conn, err := c.hub.Connect(hub.ConnConfig{Principal: owner.ID, ClientID: "ana-3", Audience: owner.Audience()})
	c.must(err)
	conn.Subscribe(nil, hub.Subscription{URI: uri})
	s := &statuses{}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	c.t.Cleanup(func() { cancel(); conn.Close(errors.New("the test is over")); wg.Wait() })
	wg.Go(func() {
		for {
			items, err := conn.Next(ctx, nil)
			if err != nil {
				return
			}
			s.mu.Lock()
			for _, it := range items {
				if it.Env == nil || it.Env.Channel.URI != uri {
					continue
				}
				switch a := it.Env.Action.(type) {
				case *ahp.ChangesetStatusChangedAction:
					s.got = append(s.got, string(a.Status))
				case *ahp.ChangesetFileSetAction, *ahp.ChangesetFileRemovedAction, *ahp.ChangesetContentChangedAction:
					s.got = append(s.got, "files")
				}
			}
			s.mu.Unlock()
		}
	})
	return s
}

// The status is always true: computing before the first result, recomputing from a known write
// until it is shown, error while the changes cannot be computed, otherwise ready.
func TestStatusIsTrue(t *testing.T) { // AHP requirement 153
	c := newChanging(t)
	uri := changes.URI(session, "session", "")
	_, err := c.host.Changes.Open(t.Context(), c.owner, uri)
	c.must(err)
	if got := c.changes(uri).Status; got != ahp.ChangesetStatusComputing {
		t.Errorf("at first it is %s", got)
	}
	s := followStatus(c, uri)
	c.follow("session", "")
	c.watched()
	said := func(want ...string) {
		t.Helper()
		c.until("it is said: "+strings.Join(want, ", "), func() bool { return len(s.list()) >= len(want) })
		if d := cmp.Diff(want, s.list()); d != "" {
			t.Fatal(d)
		}
		s.mu.Lock()
		s.got = nil
		s.mu.Unlock()
	}
	said("files", "ready")
	c.replace("a.txt", "one\n")
	said("recomputing", "files", "ready")
	c.replace("a.txt", "one\n") // the same content again
	said("recomputing", "ready")
	c.turn(func() { c.write("b.txt", "b\n") })
	c.shows(uri, "M a.txt +0 −1 outside; A b.txt +1 −0")
	c.until("it is ready", func() bool { l := s.list(); return l[len(l)-1] == "ready" && c.idle() })
	s.mu.Lock()
	s.got = nil
	s.mu.Unlock()
	away := c.dir + "-away"
	c.must(os.Rename(c.dir, away))
	c.until("the error is shown", func() bool { return slices.Contains(s.list(), "error") })
	if got := c.changes(uri); got.Error == nil || len(got.Files) != 2 {
		t.Errorf("with an error it shows %d files and %v", len(got.Files), got.Error)
	}
	c.must(os.Rename(away, c.dir))
	c.until("it is mended by itself", func() bool { return c.changes(uri).Status == ahp.ChangesetStatusReady })
	c.shows(uri, "M a.txt +0 −1 outside; A b.txt +1 −0")
}

// idle reports whether no look is running or requested.
func (c *changing) idle() bool {
	return !c.host.Changes.Status(session).Busy
}

// A changeset that had no followers for a while is outdated until the next look.
func TestSleptChangesetIsOutOfDate(t *testing.T) {
	c := newChanging(t)
	uri := c.follow("uncommitted", "")
	c.watched()
	c.until("nothing is looked at", c.idle)
	c.host.Changes.Unfollow(uri)
	s := followStatus(c, uri)
	c.write("a.txt", "one\n")
	c.must(c.host.Prepare(t.Context(), c.owner, uri))
	c.shows(uri, "M a.txt +0 −1")
	if got := s.list(); len(got) == 0 || got[0] != "recomputing" {
		t.Errorf("it said %v", got)
	}
}

// A directory added to a session later is watched too.
func TestDirectoryAddedLaterIsWatched(t *testing.T) {
	c := newChanging(t)
	uri := c.follow("uncommitted", "")
	c.watched()
	other := t.TempDir()
	c.must(c.hub.Do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionWorkingDirectorySetAction{Directory: core.FileURI(other)})
	}))
	c.write("a.txt", "one\n") // triggers a look
	c.shows(uri, "M a.txt +0 −1")
	c.must(os.WriteFile(filepath.Join(other, "x.txt"), []byte("x\n"), 0o600))
	c.shows(uri, "M a.txt +0 −1; A "+core.FileURI(filepath.Join(other, "x.txt"))+" +1 −0")
}

// A write to one of many files is shown without a look at all of them.
func TestOneOfManyFilesShows(t *testing.T) {
	c := newChanging(t)
	for i := range 5000 {
		if i%20 == 0 {
			c.mkdir(fmt.Sprintf("d%d", i/20))
		}
		c.write(fmt.Sprintf("d%d/f%d.txt", i/20, i), fmt.Sprintf("file %d\n", i))
	}
	c.commit("many")
	uri := c.follow("uncommitted", "")
	c.watched()
	for i := range 5 {
		c.write(fmt.Sprintf("d%d/f%d.txt", 40*i, 800*i), "another\n")
		c.until("it shows", func() bool { return len(c.changes(uri).Files) == i+1 })
	}
	c.write("d249/new.txt", "new\n")
	c.must(os.Remove(filepath.Join(c.dir, "d7/f150.txt")))
	c.until("all show", func() bool { return len(c.changes(uri).Files) == 7 })
	if at := c.host.Changes.Status(session); at.Narrow < 6 || at.Whole > 2 {
		t.Errorf("everything was looked at %d times, and single files %d times", at.Whole, at.Narrow)
	}
}
