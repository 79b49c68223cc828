package resource

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// watched runs a watch and collects its reports, as "kind path".
type watched struct {
	t    *testing.T
	base string

	mu  sync.Mutex
	got []string
}

func watching(t *testing.T, files Files, p ahp.CreateResourceWatchParams) *watched {
	t.Helper()
	w, err := files.Watch(p)
	if err != nil {
		t.Fatal(err)
	}
	got := &watched{t: t, base: p.URI}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx, got.tell) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return got
}

func (w *watched) tell(batch []ahp.ResourceChange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(batch) == 0 || len(batch) > mostBatch {
		w.t.Errorf("a batch of %d (AHP requirement 186)", len(batch))
	}
	for _, c := range batch {
		w.got = append(w.got, string(c.Type)+" "+strings.TrimPrefix(c.URI, w.base+"/"))
	}
}

// until waits for all of these, in any order.
func (w *watched) until(want ...string) {
	w.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		w.mu.Lock()
		got := slices.Clone(w.got)
		w.mu.Unlock()
		if !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(got, s) }) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("got %q, want %q", got, want)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (w *watched) never(what string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.got {
		if strings.Contains(g, what) {
			w.t.Errorf("told of %s", g)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// AHP requirement 185.
func TestWatchTellsOfEverythingBelow(t *testing.T) {
	files, dir, _ := tree(t)
	w := watching(t, files, ahp.CreateResourceWatchParams{URI: URI(dir), Recursive: ahp.Ptr(true),
		Excludes: &ahp.StringCollection{Items: []string{"node_modules", "**/*.log"}}})
	write(t, dir+"/a.txt", "changed")
	write(t, dir+"/sub/b.json", "[]")
	write(t, dir+"/new/deep/c", "c")
	write(t, dir+"/node_modules/x", "x")
	write(t, dir+"/sub/b.log", "x")
	w.until("updated a.txt", "updated sub/b.json", "added new", "added new/deep", "added new/deep/c")
	if err := os.RemoveAll(dir + "/new"); err != nil {
		t.Fatal(err)
	}
	w.until("deleted new", "deleted new/deep", "deleted new/deep/c")
	w.never("node_modules")
	w.never(".log")
}

func TestWatchOfADirectoryAlone(t *testing.T) {
	files, dir, _ := tree(t)
	w := watching(t, files, ahp.CreateResourceWatchParams{URI: URI(dir),
		Includes: &ahp.StringCollection{Items: []string{"*.txt", "last"}}})
	write(t, dir+"/sub/b.json", "[]")
	write(t, dir+"/pic", "x")
	write(t, dir+"/new.txt", "x")
	write(t, dir+"/last", "x")
	w.until("added new.txt", "added last")
	w.never("b.json")
	w.never("pic")
}

func TestWatchOfAFile(t *testing.T) {
	files, dir, _ := tree(t)
	w := watching(t, files, ahp.CreateResourceWatchParams{URI: URI(dir) + "/a.txt"})
	write(t, dir+"/pic", "x")
	write(t, dir+"/a.txt.new", "replaced")
	if err := os.Rename(dir+"/a.txt.new", dir+"/a.txt"); err != nil { // as editors do
		t.Fatal(err)
	}
	w.until("added " + URI(dir) + "/a.txt")
	w.never("pic")
}

// AHP requirement 184.
func TestWatchIsRefused(t *testing.T) {
	files, dir, outside := tree(t)
	globs := func(p ...string) *ahp.StringCollection { return &ahp.StringCollection{Items: p} }
	for _, c := range []struct {
		p    ahp.CreateResourceWatchParams
		code int
	}{
		{ahp.CreateResourceWatchParams{URI: URI(outside)}, ahp.CodePermissionDenied},
		{ahp.CreateResourceWatchParams{URI: URI(dir) + "/outdir"}, ahp.CodePermissionDenied},
		{ahp.CreateResourceWatchParams{URI: URI(dir) + "/nowhere"}, ahp.CodeNotFound},
		{ahp.CreateResourceWatchParams{URI: URI(dir), Excludes: globs("[")}, ahp.CodeInvalidParams},
		{ahp.CreateResourceWatchParams{URI: URI(dir), Includes: globs(make([]string, mostGlobs+1)...)},
			ahp.CodeInvalidParams},
	} {
		if _, err := files.Watch(c.p); code(err) != c.code {
			t.Errorf("%+v: got %v, want code %d", c.p, err, c.code)
		}
	}
}

// AHP requirement 186.
func TestBurst(t *testing.T) {
	const added, updated, deleted = ahp.ResourceChangeTypeAdded, ahp.ResourceChangeTypeUpdated,
		ahp.ResourceChangeTypeDeleted
	for _, c := range []struct {
		happened []ahp.ResourceChangeType
		want     ahp.ResourceChangeType
	}{
		{[]ahp.ResourceChangeType{added, updated}, added}, {[]ahp.ResourceChangeType{added, deleted}, ""},
		{[]ahp.ResourceChangeType{added, deleted, added}, added}, {[]ahp.ResourceChangeType{deleted, added}, updated},
		{[]ahp.ResourceChangeType{updated, deleted}, deleted}, {[]ahp.ResourceChangeType{added, deleted, deleted}, ""},
	} {
		b := newBurst(&Watch{uri: "file:///w", dir: "/w"})
		for _, kind := range c.happened {
			b.add("/w/a", kind)
		}
		got := b.drain()
		if c.want == "" && len(got) != 0 || c.want != "" &&
			(len(got) != 1 || got[0][0] != ahp.ResourceChange{URI: "file:///w/a", Type: c.want}) {
			t.Errorf("%v: got %v, want %q", c.happened, got, c.want)
		}
	}
	b := newBurst(&Watch{uri: "file:///w", dir: "/w"})
	for i := range mostPending + 5 {
		b.add("/w/"+strings.Repeat("x", i%100)+"/"+string(rune(i+1000)), added)
	}
	if got := b.drain(); len(got) != 1 || len(got[0]) != 1 || got[0][0].URI != "file:///w" || !b.empty() {
		t.Errorf("a burst past its bound is told as %d batches", len(got))
	}
}
