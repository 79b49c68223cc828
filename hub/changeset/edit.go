package changeset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Edit returns a file's new content given its current one; an error leaves everything unchanged.
type Edit struct {
	Path string // of a file below one of the directories
	Edit func(content []byte) ([]byte, error)
}

const mostEdited = 4 << 20 // bytes of a file

// Edit rewrites files below the directories: all of them or, with an error, none. ErrConflict says
// that a file is not one
// that can be edited, or was written to at this moment. Before anything is written keep receives the undo document; it
// may be nil.
func (s *Service) Edit(ctx context.Context, session string, dirs []string, edits []Edit, keep func(Undo) error) error {
	dirs, err := distinct(dirs)
	if err != nil {
		return err
	}
	var all []*rewriting
	left := len(edits)
	for _, dir := range dirs {
		mine := slices.DeleteFunc(slices.Clone(edits), func(e Edit) bool { return innermost(e.Path, dirs) != dir })
		if len(mine) == 0 {
			continue
		}
		w, done, err := s.repo(session, dir).rewriting(ctx)
		if err != nil {
			return err
		}
		defer done()
		for _, e := range mine {
			if err := w.edit(e); err != nil {
				return err
			}
		}
		all, left = append(all, w), left-len(mine)
	}
	if left > 0 {
		return fmt.Errorf("%w: a file is not in the directories of this session", ErrConflict)
	}
	if err := keepUndo(ctx, all, keep); err != nil {
		return err
	}
	return carryAll(all)
}

func (w *rewriting) edit(e Edit) error {
	path, err := filepath.Rel(w.src.top, e.Path)
	if err != nil || !filepath.IsLocal(path) || isGits(path) {
		return fmt.Errorf("%w: %s is not a file of this directory", ErrConflict, e.Path)
	}
	path = filepath.ToSlash(path)
	now, err := readEntry(w.root, path)
	switch {
	case err != nil:
		return err
	case now == nil:
		return fmt.Errorf("%w: there is no %s any more", ErrConflict, path)
	case now.link || len(now.data) > mostEdited:
		return fmt.Errorf("%w: %s is not a text that can be edited", ErrConflict, path)
	}
	data, err := e.Edit(now.data)
	if err == nil {
		w.steps = append(w.steps, step{path, now, &entry{exec: now.exec, data: data}})
	}
	return err
}

// isGits reports whether a path belongs to git itself, also in a nested repository.
func isGits(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"),
		func(name string) bool { return strings.EqualFold(name, ".git") })
}

// Staged returns how many files people have staged in the repositories of the directories.
func (s *Service) Staged(ctx context.Context, session string, dirs []string) (n int, err error) {
	if dirs, err = distinct(dirs); err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		_, x, err := s.repo(session, dir).readIndex(ctx)
		if err != nil {
			return 0, err
		}
		n += len(x.files)
	}
	return n, nil
}
