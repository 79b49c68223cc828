package changeset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

const mostEdited = 4 << 20 // bytes of a file

// Texts reads files below the directories, to edit them. Error: ErrConflict if a file cannot be
// edited.
func (s *Service) Texts(ctx context.Context, ws machine.Workspace, dirs, paths []string) ([]machine.Text, error) {
	texts := make([]machine.Text, len(paths))
	_, done, err := s.eachEdited(ctx, ws, dirs, paths, func(w *rewriting, i int) error {
		_, now, err := w.editable(paths[i])
		if err == nil {
			texts[i] = machine.Text{Path: paths[i], Data: now.data, Kept: keptOf(now, "")}
		}
		return err
	})
	done()
	return texts, err
}

// Edit rewrites files below the directories: all of them or, after an error, none. It returns how
// to undo that. Errors: ErrConflict if a file cannot be edited; ErrStale if it has changed since it
// was read.
func (s *Service) Edit(ctx context.Context, ws machine.Workspace, dirs []string,
	edits []machine.TextEdit) (machine.Rewrite, error) {
	paths := make([]string, len(edits))
	for i, e := range edits {
		paths[i] = e.Path
	}
	all, done, err := s.eachEdited(ctx, ws, dirs, paths, func(w *rewriting, i int) error { return w.edit(edits[i]) })
	defer done()
	if err != nil {
		return machine.Rewrite{}, err
	}
	r, err := keepRewrite(ctx, all)
	if err != nil {
		return machine.Rewrite{}, err
	}
	return r, carryAll(all)
}

// eachEdited opens the worktrees of some paths until done is called, and visits each path in its
// worktree.
func (s *Service) eachEdited(ctx context.Context, ws machine.Workspace, dirs, paths []string,
	visit func(w *rewriting, i int) error) (all []*rewriting, done func(), err error) {
	var open []func()
	done = func() {
		for _, f := range slices.Backward(open) {
			f()
		}
	}
	if dirs, err = distinct(dirs); err != nil {
		return nil, done, err
	}
	left := len(paths)
	for _, dir := range dirs {
		var w *rewriting
		for i, path := range paths {
			if innermost(path, dirs) != dir {
				continue
			}
			if w == nil {
				var end func()
				if w, end, err = s.repo(ws, dir).rewriting(ctx); err != nil {
					return nil, done, err
				}
				all, open = append(all, w), append(open, end)
			}
			if err := visit(w, i); err != nil {
				return nil, done, err
			}
			left--
		}
	}
	if left > 0 {
		return nil, done, fmt.Errorf("%w: a file is not in the directories of this session", machine.ErrConflict)
	}
	return all, done, nil
}

// editable returns the path of a text below the worktree's top, and its current content.
func (w *rewriting) editable(full string) (path string, now *entry, err error) {
	path, err = filepath.Rel(w.src.top, full)
	if err != nil || !filepath.IsLocal(path) || isGits(path) {
		return "", nil, fmt.Errorf("%w: %s is not in this directory", machine.ErrConflict, full)
	}
	path = filepath.ToSlash(path)
	now, err = readEntry(w.root, path)
	switch {
	case err != nil:
		return path, nil, err
	case now == nil:
		return path, nil, fmt.Errorf("%w: %s no longer exists", machine.ErrConflict, path)
	case now.link || len(now.data) > mostEdited:
		return path, nil, fmt.Errorf("%w: %s is not a text file", machine.ErrConflict, path)
	}
	return path, now, nil
}

func (w *rewriting) edit(e machine.TextEdit) error {
	path, now, err := w.editable(e.Path)
	switch {
	case err != nil:
		return err
	case !isKept(e.Was, now):
		return fmt.Errorf("%w: %s", machine.ErrStale, path)
	}
	w.steps = append(w.steps, step{path, now, &entry{exec: now.exec, data: e.Data}})
	return nil
}

// isGits reports whether a path belongs to git itself, also in a nested repository.
func isGits(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"),
		func(name string) bool { return strings.EqualFold(name, ".git") })
}

// Staged returns how many files people have staged in the repositories of the directories.
func (s *Service) Staged(ctx context.Context, ws machine.Workspace, dirs []string) (n int, err error) {
	if dirs, err = distinct(dirs); err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		_, x, err := s.repo(ws, dir).readIndex(ctx)
		if err != nil {
			return 0, err
		}
		n += len(x.files)
	}
	return n, nil
}
