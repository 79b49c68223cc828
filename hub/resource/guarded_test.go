package resource

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
)

// guardedHome returns a guarded home directory that contains a data directory.
func guardedHome(t *testing.T) (home, data string, files Files) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(home, "share", "ahphub")
	for _, name := range []string{"signin", "worktrees/mine/repo", "worktrees/other/repo"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(data, name), 0o700))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(data, "worktrees/mine/repo/a.go"), []byte("package a"), 0o600),
		os.WriteFile(filepath.Join(data, "worktrees/other/repo/a.go"), []byte("package a"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return home, data, Files{FileReach: machine.FileReach{Roots: []string{home}}, Guard: g}
}

func TestWatchTellsNothingOfDataDirectory(t *testing.T) {
	home, data, files := guardedHome(t)
	w := watching(t, files, ahp.CreateResourceWatchParams{URI: URI(home), Recursive: ahp.Ptr(true)})
	for _, path := range []string{filepath.Join(data, "token"), filepath.Join(data, "signin", "one"),
		filepath.Join(home, "notes.txt")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.until("added notes.txt")
	w.never("share/ahphub")
}

func TestOwnWorktreeIsOpen(t *testing.T) {
	_, data, files := guardedHome(t)
	mine, other := filepath.Join(data, "worktrees/mine/repo"), filepath.Join(data, "worktrees/other/repo")
	files.Roots, files.Worktrees = []string{mine, other}, []string{"mine"}
	if _, err := files.Read(URI(filepath.Join(mine, "a.go"))); err != nil {
		t.Errorf("a session does not read its own work tree: %v", err)
	}
	if err := files.Put(ahp.ResourceWriteParams{URI: URI(filepath.Join(mine, "b.go")), Data: "package a"}); err != nil {
		t.Errorf("a session does not write its own work tree: %v", err)
	}
	if _, err := files.Read(URI(filepath.Join(other, "a.go"))); err == nil {
		t.Error("a session reads the work tree of another one")
	}
}
