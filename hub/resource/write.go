package resource

import (
	"os"
	"path"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Write makes or replaces a file of at most 16 MB, and the directories it lies in. A link is followed where it stays
// inside of its root; what is no regular file is not written to.
func (f Files) Write(uri ahp.URI, data []byte) error {
	if len(data) > mostBytes {
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s: %d MB is the most that is written at once", uri, mostBytes>>20)
	}
	s, err := f.open(uri)
	if err != nil {
		return err
	}
	defer s.root.Close()
	_, err = within(&s, func(root *os.Root, rel string) (struct{}, error) { return struct{}{}, writeFile(uri, root, rel, data) })
	return problem(uri, err)
}

// writeFile looks before it opens: opening a pipe would wait for a reader.
func writeFile(uri ahp.URI, root *os.Root, rel string, data []byte) error {
	if info, err := root.Stat(rel); err == nil {
		if err := readable(uri, info); err != nil && !(info.Mode().IsRegular() && info.Size() > mostBytes) {
			return err
		}
	} else if err := root.MkdirAll(path.Dir(filepath.ToSlash(rel)), 0o755); err != nil {
		return err
	}
	return root.WriteFile(rel, data, 0o644)
}
