package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// closedPlaces are the kernel's directories, or the directories that they link to.
var closedPlaces = []string{"/proc", "/sys", "/dev"}

// isClosed reports whether a directory is one of closedPlaces.
func isClosed(info fs.FileInfo) bool {
	for _, dir := range closedPlaces {
		if there, err := os.Stat(dir); err == nil && os.SameFile(info, there) {
			return true
		}
	}
	return false
}

// isBelow reports whether a path is a directory or in it.
func isBelow(path string, dir fs.FileInfo) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for at := real; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, dir) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// nearest resolves the links of a path, or of the longest part of it that exists.
func nearest(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for at := path; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return real, err
		}
	}
}

// pathOf returns the path by which a file was opened, with links resolved. A file that has moved counts as gone.
func pathOf(f *os.File, info fs.FileInfo) (string, error) {
	real, err := filepath.EvalSymlinks(f.Name())
	if err != nil {
		return "", err
	}
	real, err = filepath.Abs(real)
	if err != nil {
		return "", err
	}
	if there, err := os.Lstat(real); err != nil || !os.SameFile(info, there) {
		return "", &fs.PathError{Op: "open", Path: f.Name(), Err: fs.ErrNotExist}
	}
	return real, nil
}
