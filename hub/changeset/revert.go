package changeset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrConflict says that something has changed since, so that nothing was reverted.
var ErrConflict = errors.New("it does not apply any more")

// content of a path in a work tree; nil when nothing is there.
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

// step is one path to be written.
type step struct {
	path      string
	was, want *entry
}

// Revert undoes what files say was changed between two checkpoints. What was edited since in other lines is kept. Either
// all of it is undone or, with ErrConflict, nothing. It returns how many paths were written.
func (s *Service) Revert(ctx context.Context, session string, tops []Tree, files []File) (int, error) {
	written := 0
	for _, t := range tops {
		var of []File
		for _, f := range files {
			if f.Top == t.Top {
				of = append(of, f)
			}
		}
		if len(of) == 0 {
			continue
		}
		n, err := s.repo(session, t.Dir).revert(ctx, of)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

func (r *repo) revert(ctx context.Context, files []File) (int, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return 0, err
	}
	defer unlock()
	src, err := r.s.locate(ctx, r.dir)
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(src.top)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	var steps []step
	for _, f := range files {
		more, err := r.plan(ctx, src, root, f)
		if err != nil {
			return 0, err
		}
		steps = append(steps, more...)
	}
	return len(steps), carryOut(root, steps)
}

// plan tells what must be written to undo one file.
func (r *repo) plan(ctx context.Context, src source, root *os.Root, f File) ([]step, error) {
	if f.Skipped != "" {
		return nil, fmt.Errorf("%w: %s was not stored (%s)", ErrConflict, f.Path, f.Skipped)
	}
	if f.OldMode == ModeSubmodule || f.NewMode == ModeSubmodule {
		return nil, fmt.Errorf("%w: %s is a submodule: check out its commit by hand", ErrConflict, f.Path)
	}
	oldPath := f.Path
	if f.OldPath != "" {
		oldPath = f.OldPath
	}
	old, err := r.version(ctx, src, oldPath, f.OldMode, f.OldOID)
	if err != nil {
		return nil, err
	}
	new, err := r.version(ctx, src, f.Path, f.NewMode, f.NewOID)
	if err != nil {
		return nil, err
	}
	if oldPath == f.Path {
		return r.undo(ctx, src, root, f.Path, old, new)
	}
	if there, err := r.undo(ctx, src, root, oldPath, old, nil); err != nil || len(there) == 0 {
		return nil, errors.Join(err, conflictIf(err == nil, oldPath))
	}
	gone, err := r.undo(ctx, src, root, f.Path, nil, new)
	return append(gone, step{oldPath, nil, old}), err
}

func conflictIf(yes bool, path string) error {
	if !yes {
		return nil
	}
	return fmt.Errorf("%w: there is a %s again", ErrConflict, path)
}

// undo takes one path from new back to old.
func (r *repo) undo(ctx context.Context, src source, root *os.Root, path string, old, new *entry) ([]step, error) {
	now, err := readEntry(root, path)
	if err != nil {
		return nil, err
	}
	switch {
	case now.equal(new):
		return []step{{path, now, old}}, nil
	case now.equal(old):
		return nil, nil // done already
	case now == nil || old == nil || new == nil || now.link || old.link || new.link:
		return nil, fmt.Errorf("%w: %s was changed since", ErrConflict, path)
	}
	merged, err := r.merge(ctx, src, now.data, new.data, old.data)
	if err != nil {
		return nil, fmt.Errorf("%w: the same lines of %s were changed since", ErrConflict, path)
	}
	return []step{{path, now, &entry{exec: old.exec, data: merged}}}, nil
}

// version reads a version as it would be checked out.
func (r *repo) version(ctx context.Context, src source, path, mode, oid string) (*entry, error) {
	if mode == "" {
		return nil, nil
	}
	args := []string{"cat-file", "--filters", "--path=" + path, oid}
	if mode == ModeSymlink {
		args = []string{"cat-file", "blob", oid}
	}
	data, err := r.run(ctx, src, nil, args...)
	if err != nil {
		return nil, fmt.Errorf("%w: a version of %s is not kept any more", ErrConflict, path)
	}
	return &entry{link: mode == ModeSymlink, exec: mode == "100755", data: data}, nil
}

// merge applies the change from base to other onto mine; it fails when the same lines changed.
func (r *repo) merge(ctx context.Context, src source, mine, base, other []byte) ([]byte, error) {
	dir, err := os.MkdirTemp(r.git, "merge-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := []string{"merge-file", "-p", "-q"}
	for name, data := range map[string][]byte{"mine": mine, "base": base, "other": other} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"mine", "base", "other"} {
		args = append(args, filepath.Join(dir, name))
	}
	return r.run(ctx, src, nil, args...)
}

func readEntry(root *os.Root, path string) (*entry, error) {
	name := filepath.FromSlash(path)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %s cannot be read", ErrConflict, path)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return &entry{link: true, data: []byte(target)}, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a file any more", ErrConflict, path)
	}
	data, err := root.ReadFile(name)
	return &entry{exec: info.Mode()&0o100 != 0, data: data}, err
}

// carryOut writes every step, after one last look that nothing moved. When one fails, those before it are taken back.
func carryOut(root *os.Root, steps []step) error {
	for _, s := range steps {
		if now, err := readEntry(root, s.path); err != nil || !now.equal(s.was) {
			return errors.Join(err, fmt.Errorf("%w: %s was changed just now", ErrConflict, s.path))
		}
	}
	for i, s := range steps {
		if err := writeEntry(root, s.path, s.want); err != nil {
			for _, done := range steps[:i] {
				err = errors.Join(err, writeEntry(root, done.path, done.was))
			}
			return err
		}
	}
	return nil
}

// writeEntry replaces what is at a path in one move.
func writeEntry(root *os.Root, path string, e *entry) error {
	name := filepath.FromSlash(path)
	if e == nil {
		err := root.Remove(name)
		for dir := filepath.Dir(name); err == nil && dir != "."; dir = filepath.Dir(dir) {
			if root.Remove(dir) != nil {
				break // not empty: others are in there
			}
		}
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp := name + ".ahphub-revert"
	if err := writeTemp(root, temp, e); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return root.Rename(temp, name)
}

func writeTemp(root *os.Root, temp string, e *entry) error {
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e.link {
		return root.Symlink(string(e.data), temp)
	}
	perm := fs.FileMode(0o644)
	if e.exec {
		perm = 0o755
	}
	return root.WriteFile(temp, e.data, perm)
}
