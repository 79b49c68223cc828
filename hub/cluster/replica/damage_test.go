package replica

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/store"
)

// flipped creates a directory whose database has a flipped bit in a document.
func flipped(t *testing.T) (dir string, file []byte) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	apply(t, s, batch(t, "a", "a needle in a document"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ahphub.db")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(file, []byte("a needle"))
	if at < 0 {
		t.Fatal("the document is not in the file")
	}
	file[at] ^= 1
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func TestRefuseDamagedDatabase(t *testing.T) {
	dir, _ := flipped(t)
	s, err := Open(context.Background(), store.Config{Dir: dir})
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "join again") ||
		strings.Contains(err.Error(), "backup") {
		t.Errorf("opening a database with a flipped bit: %v", err)
	}
	if s != nil {
		t.Error("a state was returned with the error")
	}
}

// A node rejects a damaged snapshot from another node and keeps its state.
func TestRejectDamagedSnapshot(t *testing.T) {
	_, file := flipped(t)
	s := open(t, t.TempDir())
	apply(t, s, batch(t, "a", "kept"))
	if err := s.Restore(bytes.NewReader(file)); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("restoring a snapshot with a flipped bit: %v", err)
	}
	expect(t, s, "a=kept ")
	apply(t, s, batch(t, "b", "1"))
	expect(t, s, "a=kept b=1 ")
}

// A state can be closed after it received a database that it cannot use.
func TestCloseAfterFailedRestore(t *testing.T) {
	dir := t.TempDir()
	other := open(t, dir)
	apply(t, other, batch(t, "a", "1"))
	other.Close()
	alone, err := store.Open(context.Background(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(alone.Apply(2, batch(t, "a", "2")), alone.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "ahphub.db"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, t.TempDir())
	if err := s.Restore(bytes.NewReader(file)); !errors.Is(err, cluster.ErrDiverged) {
		t.Errorf("restoring an unusable database: %v", err)
	}
	if err := s.Apply(entries(s.Applied(), batch(t, "a", "3"))); err == nil {
		t.Error("the state still accepts entries")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
