//go:build !linux

package changeset

import "io/fs"

// eachName visits the names in a directory with their types, unordered.
func eachName(dir string, visit func(name []byte, mode fs.FileMode) error) error {
	return eachEntry(dir, func(d fs.DirEntry) error { return visit([]byte(d.Name()), d.Type()) })
}
