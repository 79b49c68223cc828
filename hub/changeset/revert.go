package changeset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/ahphub/ahphub/hub/machine"
)

// PlanRevert returns what undoes the changes of files between two checkpoints, or only the given lines of one file.
// Later edits of other lines are kept. Errors: ErrConflict, when not everything can be undone.
func (s *Service) PlanRevert(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (
	machine.Rewrite, error,
) {
	return s.planRewrite(ctx, ws, tops, files, func(ctx context.Context, w *rewriting, f machine.ChangedFile) ([]step,
		error) {
		return w.plan(ctx, f, lines)
	})
}

// rewriting is the worktree of one directory while writes to its files are planned.
type rewriting struct {
	*repo
	src   source
	root  *os.Root
	index *index // what the person's index has and the last commit lacks; nil if unneeded
	steps []step

	unlock    func()          // the lock of the session's repository; may be called early, and again
	filters   map[string]bool // nil until needed
	indexFile []string        // for git's environment; the person's own index when empty
}

// planRewrite plans the writes to every file, and stores their content.
func (s *Service) planRewrite(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, plan func(context.Context, *rewriting, machine.ChangedFile) ([]step, error),
) (machine.Rewrite, error) {
	var all []*rewriting
	for _, t := range tops {
		of := filesOf(t, files)
		if len(of) == 0 {
			continue
		}
		w, done, err := s.repo(ws, t.Dir).rewriting(ctx)
		if err != nil {
			return machine.Rewrite{}, err
		}
		defer done()
		for _, f := range of {
			steps, err := plan(ctx, w, f)
			if err != nil {
				return machine.Rewrite{}, err
			}
			w.steps = append(w.steps, steps...)
		}
		all = append(all, w)
	}
	return keepRewrite(ctx, all)
}

func filesOf(t machine.Tree, files []machine.ChangedFile) (of []machine.ChangedFile) {
	for _, f := range files {
		if f.Top == t.Top && inside(f.Name(), t.Dir) {
			of = append(of, f)
		}
	}
	return of
}

// carryAll writes every directory; when one fails, those before it are undone.
func carryAll(all []*rewriting) error {
	for i, w := range all {
		if err := carryOut(w.root, w.steps); err != nil {
			for _, done := range all[:i] {
				err = errors.Join(err, carryOut(done.root, reversed(done.steps)))
			}
			return err
		}
	}
	return nil
}

func reversed(steps []step) (out []step) {
	for _, s := range steps {
		out = append(out, step{s.path, s.want, s.was})
	}
	return out
}

func (r *repo) rewriting(ctx context.Context) (w *rewriting, done func(), err error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return nil, nil, err
	}
	src, err := r.s.locate(ctx, r.ws, r.dir)
	if err != nil {
		unlock()
		return nil, nil, err
	}
	if err := src.checkTree(ctx); err != nil {
		unlock()
		return nil, nil, err
	}
	root, err := os.OpenRoot(src.top)
	if err != nil {
		unlock()
		return nil, nil, err
	}
	unlock = sync.OnceFunc(unlock)
	return &rewriting{repo: r, src: src, root: root, unlock: unlock}, func() { root.Close(); unlock() }, nil
}

// kept refuses files whose former version is not stored.
func kept(f machine.ChangedFile) error {
	if f.Skipped != "" {
		return fmt.Errorf("%w: %s was not stored (%s)", machine.ErrConflict, f.Path, f.Skipped)
	}
	if f.OldMode == machine.ModeSubmodule || f.NewMode == machine.ModeSubmodule {
		return fmt.Errorf("%w: %s is a submodule. Check out its commit in a terminal", machine.ErrConflict, f.Path)
	}
	return nil
}

// plan returns the steps that undo one file.
func (w *rewriting) plan(ctx context.Context, f machine.ChangedFile, lines *machine.Lines) ([]step, error) {
	if err := errors.Join(kept(f), w.checkUnfiltered(ctx, f.Path)); err != nil {
		return nil, err
	}
	oldPath := f.Path
	if f.OldPath != "" {
		oldPath = f.OldPath
	}
	old, err := w.version(ctx, oldPath, f.OldMode, f.OldOID)
	if err != nil {
		return nil, err
	}
	new, err := w.present(ctx, f.Path, f.NewMode, f.NewOID)
	if err != nil {
		return nil, err
	}
	if lines != nil {
		less, err := without(old, new, *lines, f.Path)
		if err != nil {
			return nil, err
		}
		return w.undo(ctx, f.Path, less, new)
	}
	if oldPath == f.Path {
		return w.undo(ctx, f.Path, old, new)
	}
	if there, err := w.undo(ctx, oldPath, old, nil); err != nil || len(there) == 0 {
		return nil, errors.Join(err, conflictIf(err == nil, oldPath))
	}
	gone, err := w.undo(ctx, f.Path, nil, new)
	return append(gone, step{oldPath, nil, old}), err
}

// without returns a version with the change of some lines undone. An added file left empty is
// removed; a deleted file with a restored line is created.
func without(old, new *entry, l machine.Lines, path string) (*entry, error) {
	for _, e := range []*entry{old, new} {
		if why := hasLines(e, path); why != "" {
			return nil, fmt.Errorf("%w: %s", machine.ErrConflict, why)
		}
	}
	data, n := mix(old.bytes(), new.bytes(), l, false)
	switch {
	case n == 0:
		return nil, fmt.Errorf("%w: these lines of %s have no changes", machine.ErrConflict, path)
	case old == nil && len(data) == 0:
		return nil, nil
	case new == nil:
		return &entry{exec: old.exec, data: data}, nil
	}
	return &entry{exec: new.exec, data: data}, nil
}

func (e *entry) bytes() []byte {
	if e == nil {
		return nil
	}
	return e.data
}

func conflictIf(yes bool, path string) error {
	if !yes {
		return nil
	}
	return fmt.Errorf("%w: %s exists again. Move it away first", machine.ErrConflict, path)
}

// undo returns the step that takes one path from new back to old.
func (w *rewriting) undo(ctx context.Context, path string, old, new *entry) ([]step, error) {
	now, err := readEntry(w.root, path)
	if err != nil {
		return nil, err
	}
	switch {
	case now.equal(old):
		return nil, nil // done already
	case now.equal(new):
		return []step{{path, now, old}}, nil
	case now == nil || old == nil || new == nil || now.link || old.link || new.link:
		return nil, fmt.Errorf("%w: %s has changed since", machine.ErrConflict, path)
	}
	merged, err := w.merge(ctx, now.data, new.data, old.data)
	if err != nil {
		return nil, fmt.Errorf("%w: the same lines of %s have changed since", machine.ErrConflict, path)
	}
	exec := now.exec
	if now.exec == new.exec {
		exec = old.exec
	}
	return []step{{path, now, &entry{exec: exec, data: merged}}}, nil
}

// present returns a version. If the current file equals it, git does not run.
func (w *rewriting) present(ctx context.Context, path, mode, oid string) (*entry, error) {
	if now, err := readEntry(w.root, path); err == nil && now != nil && now.mode() == mode && now.oid(oid) == oid {
		return now, nil
	}
	return w.version(ctx, path, mode, oid)
}

// version returns a version as it would be checked out.
func (w *rewriting) version(ctx context.Context, path, mode, oid string) (*entry, error) {
	if mode == "" {
		return nil, nil
	}
	args := []string{"cat-file", "--filters", "--path=" + path, oid}
	if mode == machine.ModeSymlink {
		args = []string{"cat-file", "blob", oid}
	}
	data, err := w.run(ctx, w.src, nil, args...)
	if err != nil {
		return nil, fmt.Errorf("%w: a version of %s is no longer stored", machine.ErrConflict, path)
	}
	return &entry{link: mode == machine.ModeSymlink, exec: mode == "100755", data: data}, nil
}

// merge applies the change from base to other onto mine; it fails when the same lines changed.
func (w *rewriting) merge(ctx context.Context, mine, base, other []byte) ([]byte, error) {
	dir, err := os.MkdirTemp(w.git, "merge-")
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
	return w.run(ctx, w.src, nil, args...)
}
