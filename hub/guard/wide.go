package guard

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// IsWide reports whether one of dirs contains everything of its owner: the file system's root, the home directory, or a
// parent of it. Guests read no files there.
func IsWide(dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return err == nil && slices.ContainsFunc(widePlaces(), func(w fs.FileInfo) bool { return os.SameFile(info, w) })
	})
}

// widePlaces returns the home directory, if there is one, and its parents.
func widePlaces() (places []fs.FileInfo) {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = string(filepath.Separator)
	}
	for at := filepath.Clean(home); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil {
			places = append(places, info)
		}
		if at == filepath.Dir(at) {
			return places
		}
	}
}
