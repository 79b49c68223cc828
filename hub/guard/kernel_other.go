//go:build !linux

package guard

import (
	"io/fs"
	"os"
)

func isKernelFile(*os.File) bool { return false }

func isKernelPath(string) bool { return false }

// realPath returns the path by which a file was opened, if the file is still there.
func realPath(f *os.File, info fs.FileInfo) (string, error) { return pathOf(f, info) }
