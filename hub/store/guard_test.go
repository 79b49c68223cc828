package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// Writes must stop if the directory is removed, or if another process could take the lock.
func TestLostDataDirectoryIsNoticed(t *testing.T) {
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, name))) }
	}
	for name, lose := range map[string]func(t *testing.T, dir string){
		"directory": func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) },
		"lock file": remove(lockName),
		"database":  remove(databaseName),
		"log":       remove(databaseName + "-wal"),
		"lock file replaced": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "new"), []byte("1\n"), 0o600))
			must(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, lockName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			l := start(t, Config{Dir: dir, GuardEvery: time.Millisecond})
			l.settle()
			lose(t, dir)
			eventually(t, "read-only", func() bool { return l.h.ReadOnly() != nil && l.s.Err() != nil })
			if err := l.s.Err(); !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(),
				"removed or replaced") {
				t.Errorf("it says %v", err)
			}
			if err := l.apply(chatURI, delta("x")); !errors.Is(err, hub.ErrReadOnly) {
				t.Errorf("an action: %v", err)
			}
			if err := l.s.Documents(l.h).Put(t.Context(), "b", "k", nil); err == nil {
				t.Error("a document was written")
			}
		})
	}
	if every := (Config{}).withDefaults().GuardEvery; every > 4*time.Second {
		t.Errorf("looked at every %v: it must be noticed within 5 s", every)
	}
}

func TestMovedDataDirectoryComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	l := start(t, Config{Dir: dir, GuardEvery: time.Millisecond})
	l.settle()
	must(t, os.Rename(dir, dir+".away"))
	eventually(t, "read-only", func() bool { return l.h.ReadOnly() != nil })
	must(t, os.Rename(dir+".away", dir))
	eventually(t, "back", func() bool { return l.h.ReadOnly() == nil && l.s.Err() == nil })
	must(t, l.apply(chatURI, delta("again")))
	l.settle()
}
