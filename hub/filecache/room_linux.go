package filecache

import (
	"os"
	"syscall"
)

// hasRoom reports whether the disk of a directory has so many bytes free, or its space is unknown.
func hasRoom(root *os.Root, bytes uint64) bool {
	f, err := root.Open(".")
	if err != nil {
		return false
	}
	defer f.Close()
	var fs syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &fs) != nil || fs.Bavail*uint64(fs.Bsize) >= bytes
}
