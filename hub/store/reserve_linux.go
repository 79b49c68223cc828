package store

import (
	"errors"
	"os"
	"syscall"
)

// allocate takes room on the disk for a file.
func allocate(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return fill(f, size)
	}
	return err
}

// hasRoom reports whether the disk of a file has room for so many bytes.
func hasRoom(path string, size uint64) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(path, &fs) != nil || fs.Bavail*uint64(fs.Bsize) >= size
}
