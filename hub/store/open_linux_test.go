package store

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// SQLite locks these bytes of an open database. A program that finds them unlocked, such as the
// sqlite3 shell, considers itself the last user and removes the log, which the host still writes
// to.
func TestOpenDatabaseStaysLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	must(t, put(s, "b", "k", []byte("v")))
	must(t, s.Backup(context.Background(), filepath.Join(t.TempDir(), "copy.db")))
	f, err := os.OpenFile(filepath.Join(dir, databaseName), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	const sharedFirst, sharedSize = 0x40000002, 510
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: sharedFirst, Len: sharedSize}
	must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock))
	if lock.Type == unix.F_UNLCK {
		t.Error("another program may lock the database as if nobody had it open")
	}
}
