package changeset

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub/machine"
)

// Patch returns the differences between two checkpoints of a session for git apply, with full
// object names and binary content. Paths are relative to each worktree's top; the patches of
// several directories follow each other. Files that are not stored are left out, and with only, all
// other files. Error: ErrTooLarge past the limit.
func (s *Service) Patch(ctx context.Context, ws machine.Workspace, from, to machine.Checkpoint,
	only ...machine.ChangedFile) ([]byte, error) {
	ctx, done := s.reading(ctx)
	defer done()
	var all bytes.Buffer
	for _, new := range to.Trees {
		i := slices.IndexFunc(from.Trees, func(t machine.Tree) bool { return t.Dir == new.Dir && t.Top == new.Top })
		if i < 0 || from.Trees[i].OID == new.OID {
			continue
		}
		out, err := s.repo(ws, new.Dir).patch(ctx, from.Trees[i], new, only)
		if err != nil {
			return nil, fmt.Errorf("a patch of %s: %w", new.Dir, err)
		}
		all.Write(out)
	}
	return all.Bytes(), nil
}

func (r *repo) patch(ctx context.Context, from, to machine.Tree, only []machine.ChangedFile) ([]byte, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return nil, err
	}
	defer unlock()
	src := source{top: to.Top, prefix: to.Prefix}
	if _, err := r.namesChanged(ctx, src, from.OID, to.OID); err != nil {
		return nil, err
	}
	args := []string{"diff-tree", "-r", "-p", "-M", "--binary", "--full-index", "--no-ext-diff", "--no-textconv",
		"--no-color", from.OID, to.OID}
	if len(only) == 0 {
		return r.trees(ctx, src, nil, append(args, src.pathspec()...)...)
	}
	paths := pathsOf(only, to.Top)
	if len(paths) == 0 {
		return nil, nil
	}
	return r.trees(ctx, src, nil, append(append(args, "--"), paths...)...)
}

// pathsOf returns the current and former names of files below a worktree's top.
func pathsOf(files []machine.ChangedFile, top string) (paths []string) {
	for _, f := range files {
		if f.Top != top {
			continue
		}
		if paths = append(paths, f.Path); f.OldPath != "" {
			paths = append(paths, f.OldPath)
		}
	}
	return paths
}
