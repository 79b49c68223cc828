package fence

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/machine"
)

// errNoWorktrees refuses sessions' own worktrees, which would be in the data directory, which is not open.
var errNoWorktrees = errors.New("sessions have no separate worktrees on this machine yet. Start the session in " +
	"the repository itself")

func (c changes) PlanRevert(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (machine.Rewrite, error) {
	if err := errors.Join(c.checkTrees(tops...), c.checkChanged(files)); err != nil {
		return machine.Rewrite{}, err
	}
	return c.Changes.PlanRevert(ctx, c.workspace(ws), tops, files, lines)
}

func (c changes) PlanDiscard(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (machine.Rewrite, error) {
	if err := errors.Join(c.checkTrees(tops...), c.checkChanged(files)); err != nil {
		return machine.Rewrite{}, err
	}
	return c.Changes.PlanDiscard(ctx, c.workspace(ws), tops, files, lines)
}

func (c changes) CarryOut(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	if err := c.checkRewrite(r); err != nil {
		return err
	}
	return c.Changes.CarryOut(ctx, c.workspace(ws), r)
}

func (c changes) TakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	if err := c.checkRewrite(r); err != nil {
		return err
	}
	return c.Changes.TakeBack(ctx, c.workspace(ws), r)
}

func (c changes) CanTakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) bool {
	return c.checkRewrite(r) == nil && c.Changes.CanTakeBack(ctx, c.workspace(ws), r)
}

func (c changes) Texts(ctx context.Context, ws machine.Workspace, dirs, paths []string) ([]machine.Text, error) {
	if err := errors.Join(c.checkPlaces(dirs...), c.checkPlaces(paths...)); err != nil {
		return nil, err
	}
	return c.Changes.Texts(ctx, c.workspace(ws), dirs, paths)
}

func (c changes) Edit(ctx context.Context, ws machine.Workspace, dirs []string, edits []machine.TextEdit) (
	machine.Rewrite, error,
) {
	err := c.checkPlaces(dirs...)
	for _, e := range edits {
		err = errors.Join(err, c.checkPlace(e.Path), checkOID(e.Was.OID), checkMode(e.Was.Mode))
	}
	if err != nil {
		return machine.Rewrite{}, err
	}
	return c.Changes.Edit(ctx, c.workspace(ws), dirs, edits)
}

// checkGitCall checks the arguments of a call in which git acts, and returns its workspace.
func (c changes) checkGitCall(ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile) (machine.Workspace, error) {
	if err := errors.Join(c.checkTrees(tops...), c.checkChanged(files)); err != nil {
		return machine.Workspace{}, err
	}
	return c.gitWorkspace(ws)
}

func (c changes) Stage(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (int, error) {
	ws, err := c.checkGitCall(ws, tops, files)
	if err != nil {
		return 0, err
	}
	return c.Changes.Stage(ctx, ws, tops, files, lines)
}

func (c changes) Unstage(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (int, error) {
	ws, err := c.checkGitCall(ws, tops, files)
	if err != nil {
		return 0, err
	}
	return c.Changes.Unstage(ctx, ws, tops, files, lines)
}

func (c changes) Commit(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, with machine.Commit) (machine.Committed, error) {
	ws, err := c.checkGitCall(ws, tops, files)
	if err != nil {
		return machine.Committed{}, err
	}
	return c.Changes.Commit(ctx, ws, tops, files, with)
}

func (c changes) CreateBranch(ctx context.Context, ws machine.Workspace, tops []machine.Tree, name string) error {
	if err := checkBranch(name); err != nil {
		return err
	}
	ws, err := c.checkGitCall(ws, tops, nil)
	if err != nil {
		return err
	}
	return c.Changes.CreateBranch(ctx, ws, tops, name)
}

// AddWorktree refuses: a worktree would be in the data directory.
func (c changes) AddWorktree(context.Context, machine.Workspace,
	machine.NewWorktree) (machine.Worktree, string, error) {
	return machine.Worktree{}, "", errNoWorktrees
}

// MergeWorktree refuses, as there are no worktrees.
func (c changes) MergeWorktree(context.Context, machine.Workspace, machine.Worktree) (int, error) {
	return 0, errNoWorktrees
}

// Standing refuses, as there are no worktrees.
func (c changes) Standing(context.Context, machine.Workspace, machine.Worktree) (machine.WorktreeStanding, error) {
	return machine.WorktreeStanding{}, errNoWorktrees
}

// RemoveWorktree refuses, as there are no worktrees.
func (c changes) RemoveWorktree(context.Context, machine.Workspace, machine.Worktree, bool) error {
	return errNoWorktrees
}
