package changeset

import (
	"slices"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// A watch reports writes to files, new folders and commits, but not ignored files; its end closes
// the channel.
func TestWatchTellsOfWrites(t *testing.T) {
	p := newRepo(t)
	p.write(".gitignore", "out/\n")
	p.write("out/x", "x\n")
	p.commit()
	w, err := p.svc.Watch(t.Context(), machine.Workspace{Session: "s"}, []string{p.dir}, 100)
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, told func(machine.Written) bool) {
		t.Helper()
		for got := range w.Written() {
			if slices.Contains(got.Paths, p.path("out/x")) {
				t.Errorf("a write to what is ignored is told: %+v", got)
			}
			if told(got) {
				return
			}
		}
		t.Fatalf("watching ended before %s was told: %v", what, w.Err())
	}
	p.write("out/x", "another\n")
	p.write("new/deep.txt", "1\n")
	until("a new folder", func(got machine.Written) bool { return slices.Contains(got.Paths, p.path("new")) })
	p.write("new/deep.txt", "2\n")
	until("a file in a new folder", func(got machine.Written) bool {
		return slices.Contains(got.Paths,
			p.path("new/deep.txt"))
	})
	p.commit()
	until("a commit", func(got machine.Written) bool { return got.Bases })
	w.Close()
	for range w.Written() {
	}
	if w.Err() != nil {
		t.Errorf("closing it is said to be a failure: %v", w.Err())
	}
}

func TestWatchRefusesTooManyFolders(t *testing.T) {
	p := newRepo(t)
	p.write("a/b/c.txt", "c\n")
	if _, err := p.svc.Watch(t.Context(), machine.Workspace{Session: "s"}, []string{p.dir}, 2); err == nil {
		t.Error("more folders than allowed are watched")
	}
}
