//go:build !unix

package changeset

import (
	"io/fs"
	"os/exec"
)

// ownGroup does nothing: without process groups, only the program itself is ended.
func ownGroup(*exec.Cmd) {}

// yield does nothing: programs have no nice value.
func yield(int) {}

const nonBlocking = 0 // files cannot be named pipes

// fileID returns zeros: callers compare paths instead.
func fileID(fs.FileInfo) (dev, ino uint64) { return 0, 0 }
