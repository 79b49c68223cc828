//go:build !linux

package guard

import (
	"io/fs"
	"os"
)

func isKernelFile(*os.File) bool { return false }

func isKernelPath(string) bool { return false }

// realPath is where an open file was opened, if it is there still.
func realPath(f *os.File, info fs.FileInfo) (string, error) { return pathOf(f, info) }
