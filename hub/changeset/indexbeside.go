package changeset

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/machine"
)

const (
	indexLock = "index.lock"
	mostIndex = 1 << 30 // bytes
)

// openGitDir opens the person's git directory. If a program of the session replaces it later, the
// replacement is not written.
func (w *rewriting) openGitDir(ctx context.Context) (*os.Root, error) {
	root, err := os.OpenRoot(w.src.gitDir)
	if err != nil {
		return nil, err
	}
	err = w.s.checkLayout(ctx, w.ws, w.dir)
	if err == nil {
		err = isRoot(root, w.src.gitDir)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// isRoot returns an error if path no longer leads to root.
func isRoot(root *os.Root, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	a, errA := root.Stat(".")
	b, errB := os.Lstat(path)
	if errA != nil || errB != nil || real != path || !os.SameFile(a, b) {
		return fmt.Errorf("%w: the repository was replaced meanwhile. Try again", machine.ErrConflict)
	}
	return nil
}

// besideIndex is a second index next to the person's.
type besideIndex struct {
	root *os.Root // contains the file
	name string
	path string // for git
	made string // the directory to remove
}

// newIndex copies the person's index to a second one. In a box, the copy is in the person's git
// directory, because git can access no other there.
func (w *rewriting) newIndex(gitDir *os.Root, before []byte) (x *besideIndex, err error) {
	x = &besideIndex{root: gitDir, made: "ahphub-commit-" + rand.Text(), path: w.src.gitDir}
	if w.s.boxOf(w.src) == nil {
		x.path = w.git
		if x.root, err = os.OpenRoot(w.git); err != nil {
			return nil, err
		}
	}
	x.name = filepath.Join(x.made, "index")
	x.path = filepath.Join(x.path, x.name)
	if err := x.root.Mkdir(x.made, 0o700); err != nil {
		return nil, err
	}
	if before == nil {
		return x, nil
	}
	err = x.root.WriteFile(x.name, before, 0o600)
	if err == nil {
		info, statErr := gitDir.Stat("index") // git compares the index's time with those of files
		if err = statErr; err == nil {
			err = x.root.Chtimes(x.name, info.ModTime(), info.ModTime())
		}
	}
	if err != nil {
		x.remove()
		return nil, err
	}
	return x, nil
}

func (x *besideIndex) remove() { _ = x.root.RemoveAll(x.made) }

// readPlainIn reads a regular file below a root; the session's programs may have put a special file
// there.
func readPlainIn(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostIndex {
		return nil, fmt.Errorf("%w: %s of the repository is no index", machine.ErrConflict, name)
	}
	return io.ReadAll(io.LimitReader(f, mostIndex))
}

// replaceIndex replaces the person's index with ours under git's own lock, if theirs is unchanged.
func replaceIndex(gitDir *os.Root, before []byte, ours *besideIndex) error {
	data, err := readPlainIn(ours.root, ours.name)
	if err != nil {
		return err
	}
	lock, err := gitDir.OpenFile(indexLock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	now, err := readPlainIn(gitDir, "index")
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, before) {
		return errors.Join(errLocked, lock.Close(), gitDir.Remove(indexLock))
	}
	if _, err = lock.Write(data); err != nil {
		return errors.Join(err, lock.Close(), gitDir.Remove(indexLock))
	}
	return errors.Join(lock.Close(), gitDir.Rename(indexLock, "index"))
}
