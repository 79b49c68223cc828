package store

import (
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks one byte far beyond the content, so that others can still read who holds the lock.
func tryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
}
