package custom

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched returns a running library and a channel for notifications about a root.
func watched(t *testing.T, root Root) (l *Library, told chan struct{}, stop func()) {
	t.Helper()
	return watchedEvery(t, root, ownEvery)
}

// watchedEvery is watched with an interval for checks of the host's own file.
func watchedEvery(t *testing.T, root Root, often time.Duration) (l *Library, told chan struct{}, stop func()) {
	t.Helper()
	l = NewLibrary(Limits{}, slog.New(slog.DiscardHandler))
	l.ownEvery = often
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = l.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	told = make(chan struct{}, 100)
	stop = l.Follow(root, func() { told <- struct{}{} })
	l.settled(t, root)
	return l, told, stop
}

// settled waits until a root is watched.
func (l *Library) settled(t *testing.T, root Root) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; <-time.After(time.Millisecond) {
		l.mu.Lock()
		s := l.shelves[root]
		ok := s != nil && s.loaded && !s.stale
		l.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the root is not watched")
		}
	}
}

func wait(t *testing.T, told chan struct{}) {
	t.Helper()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told")
	}
}

func names(f Found) (list []string) {
	for _, g := range f.Groups {
		for _, e := range g.Entries {
			list = append(list, e.Name)
		}
	}
	for _, e := range f.Servers {
		list = append(list, e.Name)
	}
	return list
}

func TestChangesAreReportedAsTheyHappen(t *testing.T) {
	root := Root{Dir: tree(t, "\n-- readme.txt --\n"), Place: Workspace}
	l, told, _ := watched(t, root)
	for _, step := range []struct {
		do   func()
		want int
	}{
		{func() { grow(t, root.Dir, "\n-- AGENTS.md --\n# One") }, 1},
		{func() { grow(t, root.Dir, "\n-- .claude/skills/two/SKILL.md --\n---\ndescription: Two\n---") }, 2},
		{func() { grow(t, root.Dir, "\n-- .mcp.json --\n{\"mcpServers\":{\"three\":{\"command\":\"x\"}}}") }, 3},
		{func() { os.RemoveAll(filepath.Join(root.Dir, ".claude")) }, 2},
		{func() { grow(t, root.Dir, "\n-- .claude/skills/two/SKILL.md --\n---\ndescription: Two again\n---") }, 3},
		{func() { os.Remove(filepath.Join(root.Dir, "AGENTS.md")) }, 2},
	} {
		step.do()
		for wait(t, told); len(names(l.Look(root))) != step.want; wait(t, told) {
		}
	}
}

// The library notices when the host's own file is added, changed and removed, although the data
// directory, which has the journal, is not watched.
func TestDataDirectoryIsNotWatched(t *testing.T) {
	root := Root{Dir: t.TempDir(), Place: Own}
	l, told, _ := watchedEvery(t, root, time.Millisecond)
	l.mu.Lock()
	if n := len(l.shelves[root].folders); n != 0 {
		t.Errorf("%d folders are watched", n)
	}
	l.mu.Unlock()
	file := filepath.Join(root.Dir, machine.OwnServers)
	servers := func(want ...string) {
		t.Helper()
		for wait(t, told); !slices.Equal(names(l.Look(root)), want); wait(t, told) {
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"mcpServers":{"one":{"command":"x"}}}`)
	servers("one")
	write(`{"mcpServers":{"one":{"command":"x"},"two":{"command":"x"}}}`)
	servers("one", "two")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	servers()
}

func TestIgnoreOtherFiles(t *testing.T) {
	root := Root{Dir: tree(t, "\n-- AGENTS.md --\nx"), Place: Workspace}
	l, told, stop := watched(t, root)
	for _, name := range []string{"main.go", "go.sum", "readme.txt"} {
		if l.touched(filepath.Join(root.Dir, name), false) {
			t.Errorf("%s has the root looked at", name)
		}
	}
	if !l.touched(filepath.Join(root.Dir, ".github"), false) {
		t.Error("a new .github is not looked at")
	}
	stop()
	stop() // stop is idempotent
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-time.After(time.Millisecond) {
		l.mu.Lock()
		n := len(l.shelves)
		l.mu.Unlock()
		if n == 0 {
			break
		}
	}
	if len(l.shelves) != 0 || len(told) > 1 { // once for the first read
		t.Error("a root that nobody follows is kept")
	}
}
