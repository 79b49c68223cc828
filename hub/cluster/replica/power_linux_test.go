package replica

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Before the log discards the entries that a snapshot covers, the node's database is synced, so a
// power cut loses none of them.
func TestSnapshotSyncsDatabase(t *testing.T) {
	dir := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skip("files in memory are never synced")
	}
	s := open(t, dir)
	for range 20 {
		apply(t, s, batch(t, "a", "1"))
	}
	if n := unsynced(t, dir); n == 0 {
		t.Error("Apply waited for the disk, although the log has the entries on disk")
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	if _, err := snapshot.WriteTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	if n := unsynced(t, dir); n > 0 {
		t.Errorf("%d pages of the database are not on disk when the log discards their entries", n)
	}
}

// unsynced returns the number of pages of the database's WAL that the system has not written to
// disk.
func unsynced(t *testing.T, dir string) uint64 {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "ahphub.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0); err != nil {
		t.Skipf("the system does not say what it has not written: %v", err)
	}
	return stat.Dirty + stat.Writeback
}
