package changeset

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/machine"
)

// PlanDiscard plans to restore files to their staged version, or to the committed one if none is
// staged; untracked files are removed. With lines, it takes one file. The index does not change.
// Otherwise it works like PlanRevert.
func (s *Service) PlanDiscard(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (
	machine.Rewrite, error,
) {
	return s.planRewrite(ctx, ws, tops, files,
		func(ctx context.Context, w *rewriting, f machine.ChangedFile) (steps []step, err error) {
			if w.index == nil {
				if w.index, err = w.repo.index(ctx, w.src); err != nil {
					return nil, err
				}
			}
			return w.discard(ctx, f, lines)
		})
}

func (w *rewriting) discard(ctx context.Context, f machine.ChangedFile,
	lines *machine.Lines) (steps []step, err error) {
	if err := errors.Join(kept(f), w.checkUnfiltered(ctx, f.Path)); err != nil {
		return nil, err
	}
	if lines != nil {
		return w.discardLines(ctx, f, *lines)
	}
	for _, path := range f.Paths() {
		var head, work [2]string // mode and object name of the committed and of the current version
		switch {
		case path == f.OldPath:
			head = [2]string{f.OldMode, f.OldOID}
		case f.OldPath == "":
			head, work = [2]string{f.OldMode, f.OldOID}, [2]string{f.NewMode, f.NewOID}
		default:
			work = [2]string{f.NewMode, f.NewOID}
		}
		mode, oid := w.index.version(path, head[0], head[1])
		want, err := w.version(ctx, path, mode, oid)
		if err != nil {
			return nil, err
		}
		was, err := w.present(ctx, path, work[0], work[1])
		if err != nil {
			return nil, err
		}
		more, err := w.undo(ctx, path, want, was)
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

// discardLines undoes some of the differences between the index and the worktree.
func (w *rewriting) discardLines(ctx context.Context, f machine.ChangedFile, l machine.Lines) ([]step, error) {
	mode, oid := w.indexVersion(f)
	staged, err := w.version(ctx, f.Path, mode, oid)
	if err != nil {
		return nil, err
	}
	work, err := w.present(ctx, f.Path, f.NewMode, f.NewOID)
	if err != nil {
		return nil, err
	}
	if l.Before {
		head, err := w.version(ctx, f.Path, f.OldMode, f.OldOID)
		if err != nil {
			return nil, err
		}
		l = follow(staged.bytes(), head.bytes(), l)
	}
	less, err := without(staged, work, l, f.Path)
	if err != nil {
		return nil, err
	}
	return w.undo(ctx, f.Path, less, work)
}
