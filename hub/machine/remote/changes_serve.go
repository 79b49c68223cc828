package remote

import (
	"context"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
)

// serveChanges returns the handlers of calls about changes.
func serveChanges(c machine.Changes) map[string]pipe.Handler {
	return map[string]pipe.Handler{
		"changes.checkpoint": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Checkpoint, error) {
			return c.Checkpoint(ctx, q.WS, q.Dirs)
		}),
		"changes.look.all": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Checkpoint, error) {
			return c.LookAtAll(ctx, q.WS, q.Dirs)
		}),
		"changes.look": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Checkpoint, error) {
			return c.Look(ctx, q.WS, q.Dirs, q.Paths)
		}),
		"changes.keep": pipe.AnswerNone(func(ctx context.Context, q changesCall) error {
			return c.Keep(ctx, q.WS, q.From)
		}),
		"changes.head": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Checkpoint, error) {
			return c.Head(ctx, q.WS, q.Dirs)
		}),
		"changes.branch": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Checkpoint, error) {
			return c.Branch(ctx, q.WS, q.Dirs)
		}),
		"changes.adopt": pipe.AnswerNone(func(ctx context.Context, q changesCall) error {
			return c.Adopt(ctx, q.WS, q.Name, q.Dirs)
		}),
		"changes.drop": pipe.AnswerNone(func(ctx context.Context, q changesCall) error {
			return c.Drop(ctx, q.WS)
		}),
		"changes.compare": pipe.Answer(func(ctx context.Context, q changesCall) ([]machine.ChangedFile, error) {
			return c.Compare(ctx, q.WS, q.From, q.To)
		}),
		"changes.patch": pipe.Answer(func(ctx context.Context, q changesCall) ([]byte, error) {
			return c.Patch(ctx, q.WS, q.From, q.To, q.Files...)
		}),
		"changes.content": pipe.Answer(func(ctx context.Context, q changesCall) ([]byte, error) {
			return c.Content(ctx, q.WS, q.Name)
		}),
		"changes.checkedout": pipe.Answer(func(ctx context.Context, q changesCall) (machine.CheckedOut, error) {
			return c.CheckedOut(ctx, q.WS, q.Dir)
		}),
		"changes.staging": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Staging, error) {
			return c.Staging(ctx, q.WS, q.Dirs)
		}),
		"changes.staged": pipe.Answer(func(ctx context.Context, q changesCall) (int, error) {
			return c.Staged(ctx, q.WS, q.Dirs)
		}),
		"changes.files": pipe.Answer(func(ctx context.Context, q changesCall) ([]string, error) {
			return c.Files(ctx, q.WS, q.Dirs, q.Most)
		}),
		"changes.track": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Tracking, error) {
			return c.Track(ctx, q.WS, q.Dir, q.Path)
		}),
		"changes.tracked": pipe.Answer(func(ctx context.Context, q changesCall) ([]string, error) {
			return c.TrackedFiles(ctx, q.WS, q.Dirs)
		}),
		"changes.refs": pipe.Answer(func(ctx context.Context, q changesCall) ([]machine.Ref, error) {
			return c.Refs(ctx, q.WS, q.Dir, q.Name, q.Most)
		}),
		"changes.plan.revert": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Rewrite, error) {
			return c.PlanRevert(ctx, q.WS, q.Tops, q.Files, q.Lines)
		}),
		"changes.plan.discard": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Rewrite, error) {
			return c.PlanDiscard(ctx, q.WS, q.Tops, q.Files, q.Lines)
		}),
		"changes.carryout": pipe.AnswerNone(func(ctx context.Context, q changesCall) error {
			return c.CarryOut(ctx, q.WS, q.Rewrite)
		}),
		"changes.takeback": pipe.AnswerNone(func(ctx context.Context, q changesCall) error {
			return c.TakeBack(ctx, q.WS, q.Rewrite)
		}),
		"changes.texts": pipe.Answer(func(ctx context.Context, q changesCall) ([]machine.Text, error) {
			return c.Texts(ctx, q.WS, q.Dirs, q.Paths)
		}),
		"changes.edit": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Rewrite, error) {
			return c.Edit(ctx, q.WS, q.Dirs, q.Edits)
		}),
		"changes.stage": pipe.Answer(func(ctx context.Context, q changesCall) (int, error) {
			return c.Stage(ctx, q.WS, q.Tops, q.Files, q.Lines)
		}),
		"changes.unstage": pipe.Answer(func(ctx context.Context, q changesCall) (int, error) {
			return c.Unstage(ctx, q.WS, q.Tops, q.Files, q.Lines)
		}),
		"changes.commit": pipe.Answer(func(ctx context.Context, q changesCall) (machine.Committed, error) {
			return c.Commit(ctx, q.WS, q.Tops, q.Files, q.Commit)
		}),
		"changes.branch.create": pipe.AnswerNone(func(ctx context.Context, q changesCall) error {
			return c.CreateBranch(ctx, q.WS, q.Tops, q.Name)
		}),
		"changes.worktree.merge": pipe.Answer(func(ctx context.Context, q changesCall) (int, error) {
			return c.MergeWorktree(ctx, q.WS, q.Worktree)
		}),
		"changes.worktree.standing": pipe.Answer(func(ctx context.Context, q changesCall) (machine.WorktreeStanding,
			error) {
			return c.Standing(ctx, q.WS, q.Worktree)
		}),
		"changes.worktree.remove": pipe.AnswerNone(func(ctx context.Context, q changesCall) error {
			return c.RemoveWorktree(ctx, q.WS, q.Worktree, q.Force)
		}),
		"changes.contents": pipe.Answer(func(ctx context.Context, q changesCall) (map[string][]byte, error) {
			return fitContents(c.Contents(ctx, q.WS, q.Paths)), nil
		}),
		"changes.current": pipe.Answer(func(ctx context.Context, q changesCall) (bool, error) {
			return c.IsCurrent(ctx, q.Stamp), nil
		}),
		"changes.takeback.can": pipe.Answer(func(ctx context.Context, q changesCall) (bool, error) {
			return c.CanTakeBack(ctx, q.WS, q.Rewrite), nil
		}),
		"changes.worktree.add": pipe.Answer(func(ctx context.Context, q changesCall) (out madeWorktree, err error) {
			out.Worktree, out.Dir, err = c.AddWorktree(ctx, q.WS, q.New)
			return out, err
		}),
		"changes.watch": func(ctx context.Context, s *pipe.Stream) error { return serveChangesWatch(ctx, c, s) },
	}
}
