package changes

import (
	"context"
	"errors"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Repositories accesses sessions' repositories on their computers. Each call includes the
// directories where they may be, and it asks the owner about repositories that lead elsewhere.
type Repositories struct {
	changes   machine.Changes
	core      *core.Core
	granted   func() []machine.Outside
	mayLeadTo func(session ahp.URI, out machine.Outside) bool
	boxes     Boxes // nil: no sandboxes
}

// Boxes provides the sandbox policies of sessions.
type Boxes interface {
	PolicyOf(ctx context.Context, session ahp.URI) (*sandbox.Policy, error)
	IsSandboxed(session ahp.URI) bool
}

// workspace returns a session's workspace: where its repositories may be.
func (r *Repositories) workspace(session ahp.URI) machine.Workspace {
	return machine.Workspace{Session: session, Dirs: r.core.LocalDirs(session), Granted: r.granted(),
		Sandboxed: r.boxes != nil && r.boxes.IsSandboxed(session)}
}

// inWorkspace runs a call on a session's repositories. If a repository leads outside, it retries
// the call only if the owner allows that.
func inWorkspace[T any](r *Repositories, session ahp.URI, call func(machine.Workspace) (T, error)) (T, error) {
	ws := r.workspace(session)
	for {
		v, err := call(ws)
		out, leads := errors.AsType[*machine.OutsideError](err)
		if !leads || slices.Contains(ws.Granted, out.Outside) || !r.mayLeadTo(session, out.Outside) {
			return v, err
		}
		ws.Granted = append(slices.Clip(ws.Granted), out.Outside)
	}
}

// doInWorkspace is inWorkspace for a call that returns nothing.
func (r *Repositories) doInWorkspace(session ahp.URI, call func(machine.Workspace) error) error {
	_, err := inWorkspace(r, session, func(ws machine.Workspace) (struct{}, error) { return struct{}{}, call(ws) })
	return err
}

// actInWorkspace is inWorkspace for calls in which git acts for a person, with the repository's
// hooks and filters.
func actInWorkspace[T any](ctx context.Context, r *Repositories, session ahp.URI,
	call func(machine.Workspace) (T, error)) (v T, err error) {
	var policy *sandbox.Policy
	if r.boxes != nil {
		if policy, err = r.boxes.PolicyOf(ctx, session); err != nil {
			return v, err
		}
	}
	return inWorkspace(r, session, func(ws machine.Workspace) (T, error) {
		ws.Sandbox = policy
		return call(ws)
	})
}

// kept returns a workspace for calls that only read a session's stored data. The directories
// determine the computer.
func (r *Repositories) kept(session ahp.URI) machine.Workspace {
	return machine.Workspace{Session: session, Dirs: r.core.LocalDirs(session)}
}

// Checkpoint calls machine.Changes.Checkpoint for a session.
func (r *Repositories) Checkpoint(ctx context.Context, session ahp.URI, dirs []string) (
	machine.Checkpoint, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return r.changes.Checkpoint(ctx, ws, dirs)
	})
}

// LookAtAll calls machine.Changes.LookAtAll for a session.
func (r *Repositories) LookAtAll(ctx context.Context, session ahp.URI, dirs []string) (
	machine.Checkpoint, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return r.changes.LookAtAll(ctx, ws, dirs)
	})
}

// Look calls machine.Changes.Look for a session.
func (r *Repositories) Look(ctx context.Context, session ahp.URI, dirs, paths []string) (
	machine.Checkpoint, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return r.changes.Look(ctx, ws, dirs, paths)
	})
}

// Head calls machine.Changes.Head for a session.
func (r *Repositories) Head(ctx context.Context, session ahp.URI, dirs []string) (
	machine.Checkpoint, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return r.changes.Head(ctx, ws, dirs)
	})
}

// Branch calls machine.Changes.Branch for a session.
func (r *Repositories) Branch(ctx context.Context, session ahp.URI, dirs []string) (
	machine.Checkpoint, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return r.changes.Branch(ctx, ws, dirs)
	})
}

// Watch calls machine.Changes.Watch for a session.
func (r *Repositories) Watch(ctx context.Context, session ahp.URI, dirs []string, most int) (
	machine.ChangesWatch, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.ChangesWatch, error) {
		return r.changes.Watch(ctx, ws, dirs, most)
	})
}

// CheckedOut calls machine.Changes.CheckedOut for a session.
func (r *Repositories) CheckedOut(ctx context.Context, session ahp.URI, dir string) (
	machine.CheckedOut, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.CheckedOut, error) {
		return r.changes.CheckedOut(ctx, ws, dir)
	})
}

// Staging calls machine.Changes.Staging for a session.
func (r *Repositories) Staging(ctx context.Context, session ahp.URI, dirs []string) (
	machine.Staging, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Staging, error) {
		return r.changes.Staging(ctx, ws, dirs)
	})
}

// Staged calls machine.Changes.Staged for a session.
func (r *Repositories) Staged(ctx context.Context, session ahp.URI, dirs []string) (
	int, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (int, error) {
		return r.changes.Staged(ctx, ws, dirs)
	})
}

// Files calls machine.Changes.Files for a session.
func (r *Repositories) Files(ctx context.Context, session ahp.URI, dirs []string, most int) (
	[]string, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) ([]string, error) {
		return r.changes.Files(ctx, ws, dirs, most)
	})
}

// Track calls machine.Changes.Track for a session.
func (r *Repositories) Track(ctx context.Context, session ahp.URI, dir, path string) (
	machine.Tracking, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Tracking, error) {
		return r.changes.Track(ctx, ws, dir, path)
	})
}

// TrackedFiles calls machine.Changes.TrackedFiles for a session.
func (r *Repositories) TrackedFiles(ctx context.Context, session ahp.URI, dirs []string) (
	[]string, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) ([]string, error) {
		return r.changes.TrackedFiles(ctx, ws, dirs)
	})
}

// Refs calls machine.Changes.Refs for a session.
func (r *Repositories) Refs(ctx context.Context, session ahp.URI, dir, query string, most int) (
	[]machine.Ref, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) ([]machine.Ref, error) {
		return r.changes.Refs(ctx, ws, dir, query, most)
	})
}

// PlanRevert calls machine.Changes.PlanRevert for a session.
func (r *Repositories) PlanRevert(ctx context.Context, session ahp.URI, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (
	machine.Rewrite, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Rewrite, error) {
		return r.changes.PlanRevert(ctx, ws, tops, files, lines)
	})
}

// PlanDiscard calls machine.Changes.PlanDiscard for a session.
func (r *Repositories) PlanDiscard(ctx context.Context, session ahp.URI, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (
	machine.Rewrite, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Rewrite, error) {
		return r.changes.PlanDiscard(ctx, ws, tops, files, lines)
	})
}

// CarryOut calls machine.Changes.CarryOut for a session.
func (r *Repositories) CarryOut(ctx context.Context, session ahp.URI, w machine.Rewrite) error {
	return r.doInWorkspace(session, func(ws machine.Workspace) error { return r.changes.CarryOut(ctx, ws, w) })
}

// TakeBack calls machine.Changes.TakeBack for a session.
func (r *Repositories) TakeBack(ctx context.Context, session ahp.URI, w machine.Rewrite) error {
	return r.doInWorkspace(session, func(ws machine.Workspace) error { return r.changes.TakeBack(ctx, ws, w) })
}

// Texts calls machine.Changes.Texts for a session.
func (r *Repositories) Texts(ctx context.Context, session ahp.URI, dirs, paths []string) (
	[]machine.Text, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) ([]machine.Text, error) {
		return r.changes.Texts(ctx, ws, dirs, paths)
	})
}

// Edit calls machine.Changes.Edit for a session.
func (r *Repositories) Edit(ctx context.Context, session ahp.URI, dirs []string, edits []machine.TextEdit) (
	machine.Rewrite, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.Rewrite, error) {
		return r.changes.Edit(ctx, ws, dirs, edits)
	})
}

// Stage calls machine.Changes.Stage for a session.
func (r *Repositories) Stage(ctx context.Context, session ahp.URI, tops []machine.Tree, files []machine.ChangedFile,
	lines *machine.Lines) (
	int, error,
) {
	return actInWorkspace(ctx, r, session, func(ws machine.Workspace) (int, error) {
		return r.changes.Stage(ctx, ws, tops, files, lines)
	})
}

// Unstage calls machine.Changes.Unstage for a session.
func (r *Repositories) Unstage(ctx context.Context, session ahp.URI, tops []machine.Tree, files []machine.ChangedFile,
	lines *machine.Lines) (
	int, error,
) {
	return actInWorkspace(ctx, r, session, func(ws machine.Workspace) (int, error) {
		return r.changes.Unstage(ctx, ws, tops, files, lines)
	})
}

// Commit calls machine.Changes.Commit for a session.
func (r *Repositories) Commit(ctx context.Context, session ahp.URI, tops []machine.Tree, files []machine.ChangedFile,
	c machine.Commit) (
	machine.Committed, error,
) {
	return actInWorkspace(ctx, r, session, func(ws machine.Workspace) (machine.Committed, error) {
		return r.changes.Commit(ctx, ws, tops, files, c)
	})
}

// CreateBranch calls machine.Changes.CreateBranch for a session.
func (r *Repositories) CreateBranch(ctx context.Context, session ahp.URI, tops []machine.Tree, name string) error {
	_, err := actInWorkspace(ctx, r, session, func(ws machine.Workspace) (struct{}, error) {
		return struct{}{}, r.changes.CreateBranch(ctx, ws, tops, name)
	})
	return err
}

// MergeWorktree calls machine.Changes.MergeWorktree for a session.
func (r *Repositories) MergeWorktree(ctx context.Context, session ahp.URI, w machine.Worktree) (
	int, error,
) {
	return actInWorkspace(ctx, r, session, func(ws machine.Workspace) (int, error) {
		return r.changes.MergeWorktree(ctx, ws, w)
	})
}

// Standing calls machine.Changes.Standing for a session.
func (r *Repositories) Standing(ctx context.Context, session ahp.URI, w machine.Worktree) (
	machine.WorktreeStanding, error,
) {
	return inWorkspace(r, session, func(ws machine.Workspace) (machine.WorktreeStanding, error) {
		return r.changes.Standing(ctx, ws, w)
	})
}

// RemoveWorktree calls machine.Changes.RemoveWorktree for a session.
func (r *Repositories) RemoveWorktree(ctx context.Context, session ahp.URI, w machine.Worktree, force bool) error {
	return r.doInWorkspace(session, func(ws machine.Workspace) error {
		return r.changes.RemoveWorktree(ctx, ws, w,
			force)
	})
}

// AddWorktree calls machine.Changes.AddWorktree for a session.
func (r *Repositories) AddWorktree(ctx context.Context, session ahp.URI, n machine.NewWorktree) (
	w machine.Worktree, dir string, err error,
) {
	err = r.doInWorkspace(session, func(ws machine.Workspace) error {
		w, dir, err = r.changes.AddWorktree(ctx, ws, n)
		return err
	})
	return w, dir, err
}

// Keep calls machine.Changes.Keep for a session.
func (r *Repositories) Keep(ctx context.Context, session ahp.URI, c machine.Checkpoint) error {
	return r.changes.Keep(ctx, r.kept(session), c)
}

// Adopt calls machine.Changes.Adopt for a session.
func (r *Repositories) Adopt(ctx context.Context, session ahp.URI, from ahp.URI, dirs []string) error {
	return r.changes.Adopt(ctx, r.kept(session), from, dirs)
}

// Compare calls machine.Changes.Compare for a session.
func (r *Repositories) Compare(ctx context.Context, session ahp.URI, from,
	to machine.Checkpoint) ([]machine.ChangedFile, error) {
	return r.changes.Compare(ctx, r.kept(session), from, to)
}

// Patch calls machine.Changes.Patch for a session.
func (r *Repositories) Patch(ctx context.Context, session ahp.URI, from, to machine.Checkpoint,
	only ...machine.ChangedFile) ([]byte, error) {
	return r.changes.Patch(ctx, r.kept(session), from, to, only...)
}

// Content calls machine.Changes.Content for a session.
func (r *Repositories) Content(ctx context.Context, session ahp.URI, oid string) ([]byte, error) {
	return r.changes.Content(ctx, r.kept(session), oid)
}

// Contents calls machine.Changes.Contents for a session.
func (r *Repositories) Contents(ctx context.Context, session ahp.URI, oids []string) map[string][]byte {
	return r.changes.Contents(ctx, r.kept(session), oids)
}

// CanTakeBack calls machine.Changes.CanTakeBack for a session.
func (r *Repositories) CanTakeBack(ctx context.Context, session ahp.URI, w machine.Rewrite) bool {
	return r.changes.CanTakeBack(ctx, r.kept(session), w)
}

// Drop calls machine.Changes.Drop for a session.
func (r *Repositories) Drop(ctx context.Context, session ahp.URI) error {
	return r.changes.Drop(ctx, r.kept(session))
}

// IsCurrent calls machine.Changes.IsCurrent.
func (r *Repositories) IsCurrent(ctx context.Context, stamp machine.Stamp) bool {
	return r.changes.IsCurrent(ctx, stamp)
}

// CommitFiles commits the uncommitted changes of some files.
func (r *Repositories) CommitFiles(ctx context.Context, session ahp.URI, dirs, paths []string, c machine.Commit) (
	machine.Committed, error,
) {
	head, err := r.Head(ctx, session, dirs)
	if err != nil {
		return machine.Committed{}, err
	}
	now, err := r.Checkpoint(ctx, session, dirs)
	if err != nil {
		return machine.Committed{}, err
	}
	files, err := r.Compare(ctx, session, head, now)
	if err != nil {
		return machine.Committed{}, err
	}
	files = slices.DeleteFunc(files, func(f machine.ChangedFile) bool { return !slices.Contains(paths, f.Name()) })
	return r.Commit(ctx, session, now.Trees, files, c)
}
