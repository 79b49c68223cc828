package fleet

import (
	"context"

	"github.com/ahphub/ahphub/hub/machine"
)

// plan is ask for a call about files that returns a rewrite.
func (c routedChanges) plan(ws machine.Workspace, paths []string, call func(s site) (machine.Rewrite, error)) (
	machine.Rewrite, error,
) {
	s, r, err := ask(c, ws, paths, call)
	return rewrite(r, s.out), err
}

func (c routedChanges) PlanRevert(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (machine.Rewrite, error) {
	return c.plan(ws, changedPaths(tops, files), func(s site) (machine.Rewrite, error) {
		return s.Changes.PlanRevert(ctx, s.ws, trees(tops, s.in), changed(files, s.in), lines)
	})
}

func (c routedChanges) PlanDiscard(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (machine.Rewrite, error) {
	return c.plan(ws, changedPaths(tops, files), func(s site) (machine.Rewrite, error) {
		return s.Changes.PlanDiscard(ctx, s.ws, trees(tops, s.in), changed(files, s.in), lines)
	})
}

func (c routedChanges) CarryOut(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	return tell(c, ws, rewritePaths(r), func(s site) error { return s.Changes.CarryOut(ctx, s.ws, rewrite(r, s.in)) })
}

func (c routedChanges) TakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	return tell(c, ws, rewritePaths(r), func(s site) error { return s.Changes.TakeBack(ctx, s.ws, rewrite(r, s.in)) })
}

// CanTakeBack implements machine.Changes; it is false while the computer is offline.
func (c routedChanges) CanTakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) bool {
	s, err := c.site(ws, rewritePaths(r)...)
	return err == nil && s.Changes.CanTakeBack(ctx, s.ws, rewrite(r, s.in))
}

func (c routedChanges) Texts(ctx context.Context, ws machine.Workspace, dirs, paths []string) ([]machine.Text, error) {
	s, texts, err := ask(c, ws, append(dirs[:len(dirs):len(dirs)], paths...), func(s site) ([]machine.Text, error) {
		return s.Changes.Texts(ctx, s.ws, s.ins(dirs), s.ins(paths))
	})
	return each(texts, func(t machine.Text) machine.Text {
		t.Path = s.out(t.Path)
		return t
	}), err
}

func (c routedChanges) Edit(ctx context.Context, ws machine.Workspace, dirs []string, edits []machine.TextEdit) (
	machine.Rewrite, error,
) {
	paths := dirs[:len(dirs):len(dirs)]
	for _, e := range edits {
		paths = append(paths, e.Path)
	}
	return c.plan(ws, paths, func(s site) (machine.Rewrite, error) {
		return s.Changes.Edit(ctx, s.ws, s.ins(dirs), each(edits, func(e machine.TextEdit) machine.TextEdit {
			e.Path = s.in(e.Path)
			return e
		}))
	})
}

func (c routedChanges) Stage(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (int, error) {
	_, n, err := ask(c, ws, changedPaths(tops, files), func(s site) (int, error) {
		return s.Changes.Stage(ctx, s.ws, trees(tops, s.in), changed(files, s.in), lines)
	})
	return n, err
}

func (c routedChanges) Unstage(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (int, error) {
	_, n, err := ask(c, ws, changedPaths(tops, files), func(s site) (int, error) {
		return s.Changes.Unstage(ctx, s.ws, trees(tops, s.in), changed(files, s.in), lines)
	})
	return n, err
}

func (c routedChanges) Commit(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, with machine.Commit) (machine.Committed, error) {
	_, done, err := ask(c, ws, changedPaths(tops, files), func(s site) (machine.Committed, error) {
		return s.Changes.Commit(ctx, s.ws, trees(tops, s.in), changed(files, s.in), with)
	})
	return done, err
}

func (c routedChanges) CreateBranch(ctx context.Context, ws machine.Workspace, tops []machine.Tree, name string) error {
	return tell(c, ws, treePaths(tops...), func(s site) error {
		return s.Changes.CreateBranch(ctx, s.ws, trees(tops, s.in), name)
	})
}

func (c routedChanges) AddWorktree(ctx context.Context, ws machine.Workspace, n machine.NewWorktree) (
	w machine.Worktree, dir string, err error,
) {
	s, w, err := ask(c, ws, []string{n.Dir}, func(s site) (w machine.Worktree, err error) {
		there := n
		there.Dir = s.in(n.Dir)
		if there.Sandbox, err = splitPolicy(s.id, n.Sandbox); err != nil {
			return w, err
		}
		w, dir, err = s.Changes.AddWorktree(ctx, s.ws, there)
		return w, err
	})
	return worktree(w, s.out), s.out(dir), err
}

func (c routedChanges) MergeWorktree(ctx context.Context, ws machine.Workspace, w machine.Worktree) (int, error) {
	_, commits, err := ask(c, ws, []string{w.Repo, w.Dir}, func(s site) (int, error) {
		return s.Changes.MergeWorktree(ctx, s.ws, worktree(w, s.in))
	})
	return commits, err
}

func (c routedChanges) Standing(ctx context.Context, ws machine.Workspace, w machine.Worktree) (
	machine.WorktreeStanding, error,
) {
	_, standing, err := ask(c, ws, []string{w.Repo, w.Dir}, func(s site) (machine.WorktreeStanding, error) {
		return s.Changes.Standing(ctx, s.ws, worktree(w, s.in))
	})
	return standing, err
}

func (c routedChanges) RemoveWorktree(ctx context.Context, ws machine.Workspace, w machine.Worktree, force bool) error {
	return tell(c, ws, []string{w.Repo, w.Dir}, func(s site) error {
		return s.Changes.RemoveWorktree(ctx, s.ws, worktree(w, s.in), force)
	})
}
