package custom

import (
	"os"
	"path/filepath"
	"strings"
)

// Text returns at most the first bytes of a file of a root; cut reports whether there is more.
func Text(root Root, path string, most int64) (text string, cut bool, err error) {
	rel, err := filepath.Rel(root.Dir, path)
	if err != nil {
		return "", false, err
	}
	s := &search{root: root}
	if s.fs, err = os.OpenRoot(root.Dir); err != nil {
		return "", false, err
	}
	defer s.fs.Close()
	data, err := s.read(filepath.ToSlash(rel), most+1, false)
	cut = int64(len(data)) > most
	if cut {
		data = data[:most]
	}
	return strings.ToValidUTF8(string(data), "�"), cut, err
}
