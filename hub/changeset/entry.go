package changeset

import (
	"bytes"
	"crypto/sha1" // git names content by it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ahphub/ahphub/hub/machine"
)

// entry is the content of a path in a worktree; nil for none.
type entry struct {
	link bool
	exec bool
	data []byte
}

func (e *entry) equal(o *entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e.link == o.link && e.exec == o.exec && bytes.Equal(e.data, o.data)
}

// mode returns git's mode, "" for none.
func (e *entry) mode() string {
	switch {
	case e == nil:
		return ""
	case e.link:
		return machine.ModeSymlink
	case e.exec:
		return "100755"
	}
	return "100644"
}

// oid returns git's object name of the content, of the same length as like.
func (e *entry) oid(like string) string {
	if e == nil {
		return ""
	}
	blob := append(fmt.Appendf(nil, "blob %d\x00", len(e.data)), e.data...)
	if len(like) == 2*sha256.Size {
		sum := sha256.Sum256(blob)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(blob)
	return hex.EncodeToString(sum[:])
}

// readEntry reads a path the way git does: a directory there is not a file, and symbolic links are
// not followed.
func readEntry(root *os.Root, path string) (*entry, error) {
	if isBehindLink(root, path) {
		return nil, nil
	}
	name := filepath.FromSlash(path)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && info.IsDir():
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %s cannot be read", machine.ErrConflict, path)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return &entry{link: true, data: []byte(target)}, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is no longer a file", machine.ErrConflict, path)
	}
	f, err := plainFile(root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)) // it may have been replaced
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return &entry{exec: info.Mode()&0o100 != 0, data: data}, err
}

// isBehindLink reports whether a symbolic link is in the place of one of a path's directories.
func isBehindLink(root *os.Root, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(filepath.FromSlash(dir)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// behindLinks splits off paths behind a symbolic link: git fails for all paths when asked to read
// there.
func behindLinks(top string, paths []string) (there, hidden []string) {
	linked := map[string]bool{".": false} // by directory
	var behind func(dir string) bool
	behind = func(dir string) bool {
		is, known := linked[dir]
		if !known {
			info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir)))
			is = behind(path.Dir(dir)) || err == nil && info.Mode()&fs.ModeSymlink != 0
			linked[dir] = is
		}
		return is
	}
	for _, p := range paths {
		if behind(path.Dir(p)) {
			hidden = append(hidden, p)
		} else {
			there = append(there, p)
		}
	}
	return there, hidden
}

// step is one path to write.
type step struct {
	path      string
	was, want *entry
}

// carryOut performs every step, after a last check that nothing has changed. When one fails, the
// steps before it are undone. Removals come first, the deepest first, because they may be in the
// way of additions.
func carryOut(root *os.Root, steps []step) error {
	slices.SortStableFunc(steps, func(a, b step) int {
		switch {
		case a.want == nil && b.want == nil:
			return strings.Compare(b.path, a.path)
		case a.want == nil:
			return -1
		case b.want == nil:
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	for _, s := range steps {
		if now, err := readEntry(root, s.path); err != nil || !now.equal(s.was) {
			return errors.Join(err, fmt.Errorf("%w: %s was changed just now. Try again", machine.ErrConflict, s.path))
		}
	}
	for i, s := range steps {
		if err := writeEntry(root, s.path, s.want); err != nil {
			for _, done := range slices.Backward(steps[:i]) {
				err = errors.Join(err, writeEntry(root, done.path, done.was))
			}
			return err
		}
	}
	return nil
}

// writeEntry replaces the content of a path atomically.
func writeEntry(root *os.Root, path string, e *entry) error {
	name := filepath.FromSlash(path)
	if e == nil {
		err := root.Remove(name)
		for dir := filepath.Dir(name); err == nil && dir != "."; dir = filepath.Dir(dir) {
			if root.Remove(dir) != nil {
				break // not empty
			}
		}
		return err
	}
	if isBehindLink(root, path) {
		return fmt.Errorf("%w: a symbolic link is in the way of %s", machine.ErrConflict, path)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(name), "."+shortHash(path)+".ahphub")
	err := writeTemp(root, temp, e, permissions(root, name, e))
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, removeFrom(root, temp))
	}
	return nil
}

// permissions keeps a file's access rights; a version only determines whether it is executable.
func permissions(root *os.Root, name string, e *entry) fs.FileMode {
	perm := fs.FileMode(0o644)
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		perm = info.Mode().Perm() &^ 0o111
	}
	if e.exec {
		perm |= perm >> 2 & 0o111
	}
	return perm
}

func removeFrom(root *os.Root, name string) error {
	if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func writeTemp(root *os.Root, temp string, e *entry, perm fs.FileMode) error {
	if err := removeFrom(root, temp); err != nil {
		return err
	}
	if e.link {
		return root.Symlink(string(e.data), temp)
	}
	if err := root.WriteFile(temp, e.data, perm); err != nil {
		return err
	}
	return root.Chmod(temp, perm) // whatever the umask
}
