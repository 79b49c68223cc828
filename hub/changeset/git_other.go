//go:build !unix

package changeset

import (
	"io/fs"
	"os/exec"
)

// ownGroup does nothing where there are no process groups: the program itself is ended.
func ownGroup(*exec.Cmd) {}

// yield does nothing where programs have no nice value.
func yield(int) {}

const nonBlocking = 0 // there are no named pipes among files

// fileID is unknown here; paths are compared in its place.
func fileID(fs.FileInfo) (dev, ino uint64) { return 0, 0 }
