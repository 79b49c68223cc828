//go:build !linux

package filecache

import "os"

// hasRoom reports whether the disk of a directory has so many bytes free, as far as it is known.
func hasRoom(*os.Root, uint64) bool { return true }
