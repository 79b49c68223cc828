package store

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves disk space for a file.
func allocate(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return fill(f, size)
	}
	return err
}

// hasRoom reports whether a file's disk has this much free space.
func hasRoom(path string, size uint64) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(path, &fs) != nil || fs.Bavail*uint64(fs.Bsize) >= size
}
