package remote

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
)

// changes implements machine.Changes.
type changes struct{ m *Machine }

// changesCall holds the arguments of calls about changes; each call uses some.
type changesCall struct {
	WS        machine.Workspace
	Dir, Path string   `cbor:",omitempty"`
	Dirs      []string `cbor:",omitzero"`
	Paths     []string `cbor:",omitzero"`
	Name      string   `cbor:",omitempty"` // of a session, an object or a branch, or part of a name
	Most      int      `cbor:",omitempty"`
	Force     bool     `cbor:",omitempty"`
	From, To  machine.Checkpoint
	Tops      []machine.Tree        `cbor:",omitzero"`
	Files     []machine.ChangedFile `cbor:",omitzero"`
	Lines     *machine.Lines        `cbor:",omitzero"`
	Rewrite   machine.Rewrite
	Edits     []machine.TextEdit `cbor:",omitzero"`
	Commit    machine.Commit
	Worktree  machine.Worktree
	New       machine.NewWorktree
	Stamp     machine.Stamp `cbor:",omitzero"`
}

func (remote changes) Checkpoint(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint,
	error) {
	return call[machine.Checkpoint](ctx, remote.m, "changes.checkpoint", changesCall{WS: ws, Dirs: dirs})
}

func (remote changes) LookAtAll(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint,
	error) {
	return call[machine.Checkpoint](ctx, remote.m, "changes.look.all", changesCall{WS: ws, Dirs: dirs})
}

func (remote changes) Look(ctx context.Context, ws machine.Workspace, dirs,
	paths []string) (machine.Checkpoint, error) {
	return call[machine.Checkpoint](ctx, remote.m, "changes.look", changesCall{WS: ws, Dirs: dirs, Paths: paths})
}

func (remote changes) Keep(ctx context.Context, ws machine.Workspace, c machine.Checkpoint) error {
	return callNone(ctx, remote.m, "changes.keep", changesCall{WS: ws, From: c})
}

func (remote changes) Head(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return call[machine.Checkpoint](ctx, remote.m, "changes.head", changesCall{WS: ws, Dirs: dirs})
}

func (remote changes) Branch(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return call[machine.Checkpoint](ctx, remote.m, "changes.branch", changesCall{WS: ws, Dirs: dirs})
}

func (remote changes) Adopt(ctx context.Context, ws machine.Workspace, from string, dirs []string) error {
	return callNone(ctx, remote.m, "changes.adopt", changesCall{WS: ws, Name: from, Dirs: dirs})
}

func (remote changes) Drop(ctx context.Context, ws machine.Workspace) error {
	return callNone(ctx, remote.m, "changes.drop", changesCall{WS: ws})
}

func (remote changes) Compare(ctx context.Context, ws machine.Workspace, from,
	to machine.Checkpoint) ([]machine.ChangedFile, error) {
	return call[[]machine.ChangedFile](ctx, remote.m, "changes.compare", changesCall{WS: ws, From: from, To: to})
}

func (remote changes) Patch(ctx context.Context, ws machine.Workspace, from, to machine.Checkpoint,
	only ...machine.ChangedFile) ([]byte, error) {
	return call[[]byte](ctx, remote.m, "changes.patch", changesCall{WS: ws, From: from, To: to, Files: only})
}

func (remote changes) Content(ctx context.Context, ws machine.Workspace, oid string) ([]byte, error) {
	return call[[]byte](ctx, remote.m, "changes.content", changesCall{WS: ws, Name: oid})
}

func (remote changes) CheckedOut(ctx context.Context, ws machine.Workspace, dir string) (machine.CheckedOut, error) {
	return call[machine.CheckedOut](ctx, remote.m, "changes.checkedout", changesCall{WS: ws, Dir: dir})
}

func (remote changes) Staging(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Staging, error) {
	return call[machine.Staging](ctx, remote.m, "changes.staging", changesCall{WS: ws, Dirs: dirs})
}

func (remote changes) Staged(ctx context.Context, ws machine.Workspace, dirs []string) (int, error) {
	return call[int](ctx, remote.m, "changes.staged", changesCall{WS: ws, Dirs: dirs})
}

func (remote changes) Files(ctx context.Context, ws machine.Workspace, dirs []string, most int) ([]string, error) {
	return call[[]string](ctx, remote.m, "changes.files", changesCall{WS: ws, Dirs: dirs, Most: most})
}

func (remote changes) Track(ctx context.Context, ws machine.Workspace, dir, path string) (machine.Tracking, error) {
	return call[machine.Tracking](ctx, remote.m, "changes.track", changesCall{WS: ws, Dir: dir, Path: path})
}

func (remote changes) TrackedFiles(ctx context.Context, ws machine.Workspace, dirs []string) ([]string, error) {
	return call[[]string](ctx, remote.m, "changes.tracked", changesCall{WS: ws, Dirs: dirs})
}

func (remote changes) Refs(ctx context.Context, ws machine.Workspace, dir, query string,
	most int) ([]machine.Ref, error) {
	return call[[]machine.Ref](ctx, remote.m, "changes.refs", changesCall{WS: ws, Dir: dir, Name: query, Most: most})
}

func (remote changes) PlanRevert(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (machine.Rewrite, error) {
	return call[machine.Rewrite](ctx, remote.m, "changes.plan.revert",
		changesCall{WS: ws, Tops: tops, Files: files, Lines: lines})
}

func (remote changes) PlanDiscard(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (machine.Rewrite, error) {
	return call[machine.Rewrite](ctx, remote.m, "changes.plan.discard",
		changesCall{WS: ws, Tops: tops, Files: files, Lines: lines})
}

func (remote changes) CarryOut(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	return callNone(ctx, remote.m, "changes.carryout", changesCall{WS: ws, Rewrite: r})
}

func (remote changes) TakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) error {
	return callNone(ctx, remote.m, "changes.takeback", changesCall{WS: ws, Rewrite: r})
}

func (remote changes) Texts(ctx context.Context, ws machine.Workspace, dirs, paths []string) ([]machine.Text, error) {
	return call[[]machine.Text](ctx, remote.m, "changes.texts", changesCall{WS: ws, Dirs: dirs, Paths: paths})
}

func (remote changes) Edit(ctx context.Context, ws machine.Workspace, dirs []string,
	edits []machine.TextEdit) (machine.Rewrite, error) {
	return call[machine.Rewrite](ctx, remote.m, "changes.edit", changesCall{WS: ws, Dirs: dirs, Edits: edits})
}

func (remote changes) Stage(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (int, error) {
	return call[int](ctx, remote.m, "changes.stage", changesCall{WS: ws, Tops: tops, Files: files, Lines: lines})
}

func (remote changes) Unstage(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, lines *machine.Lines) (int, error) {
	return call[int](ctx, remote.m, "changes.unstage", changesCall{WS: ws, Tops: tops, Files: files, Lines: lines})
}

func (remote changes) Commit(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	files []machine.ChangedFile, c machine.Commit) (machine.Committed, error) {
	return call[machine.Committed](ctx, remote.m, "changes.commit",
		changesCall{WS: ws, Tops: tops, Files: files, Commit: c})
}

func (remote changes) CreateBranch(ctx context.Context, ws machine.Workspace, tops []machine.Tree,
	name string) error {
	return callNone(ctx, remote.m, "changes.branch.create", changesCall{WS: ws, Tops: tops, Name: name})
}

func (remote changes) MergeWorktree(ctx context.Context, ws machine.Workspace, w machine.Worktree) (int, error) {
	return call[int](ctx, remote.m, "changes.worktree.merge", changesCall{WS: ws, Worktree: w})
}

func (remote changes) Standing(ctx context.Context, ws machine.Workspace,
	w machine.Worktree) (machine.WorktreeStanding, error) {
	return call[machine.WorktreeStanding](ctx, remote.m, "changes.worktree.standing", changesCall{WS: ws, Worktree: w})
}

func (remote changes) RemoveWorktree(ctx context.Context, ws machine.Workspace, w machine.Worktree,
	force bool) error {
	return callNone(ctx, remote.m, "changes.worktree.remove", changesCall{WS: ws, Worktree: w, Force: force})
}

// Contents returns the versions of as many files as fit into one answer.
func (remote changes) Contents(ctx context.Context, ws machine.Workspace, oids []string) map[string][]byte {
	out, err := call[map[string][]byte](ctx, remote.m, "changes.contents", changesCall{WS: ws, Paths: oids})
	if err != nil {
		return nil // the caller uses Content for each, which returns the error
	}
	return out
}

// IsCurrent reports whether a stamp is up to date; false while the machine is offline.
func (remote changes) IsCurrent(ctx context.Context, stamp machine.Stamp) bool {
	holds, err := call[bool](ctx, remote.m, "changes.current", changesCall{Stamp: stamp})
	return err == nil && holds
}

// CanTakeBack reports whether all files still are as they were left; false while the machine is
// offline.
func (remote changes) CanTakeBack(ctx context.Context, ws machine.Workspace, r machine.Rewrite) bool {
	can, err := call[bool](ctx, remote.m, "changes.takeback.can", changesCall{WS: ws, Rewrite: r})
	return err == nil && can
}

// madeWorktree is the result of AddWorktree.
type madeWorktree struct {
	Worktree machine.Worktree
	Dir      string
}

// AddWorktree creates a worktree.
func (remote changes) AddWorktree(ctx context.Context, ws machine.Workspace, n machine.NewWorktree) (
	machine.Worktree, string, error,
) {
	out, err := call[madeWorktree](ctx, remote.m, "changes.worktree.add", changesCall{WS: ws, New: n})
	return out.Worktree, out.Dir, err
}

// Watch watches directories; the computer's watch has started when it returns.
func (remote changes) Watch(ctx context.Context, ws machine.Workspace, dirs []string, most int) (
	machine.ChangesWatch, error,
) {
	s, err := openStream(ctx, remote.m, "changes.watch", changesCall{WS: ws, Dirs: dirs, Most: most})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &changesWatch{s: s, cancel: cancel, written: make(chan machine.Written), done: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// changesWatch implements machine.ChangesWatch.
type changesWatch struct {
	s       *pipe.Stream
	cancel  context.CancelFunc
	written chan machine.Written
	done    chan struct{}
	err     error
}

func (w *changesWatch) run(ctx context.Context) {
	defer close(w.done)
	defer close(w.written)
	defer w.s.Close()
	defer context.AfterFunc(ctx, w.s.Close)()
	for {
		var said machine.Written
		if err := w.s.Receive(&said); err != nil {
			if ctx.Err() == nil {
				w.err = asOffline(ctx, err)
			}
			return
		}
		select {
		case w.written <- said:
		case <-ctx.Done():
			return
		}
	}
}

// Written is closed when watching ends.
func (w *changesWatch) Written() <-chan machine.Written { return w.written }

// Err returns why watching ended.
func (w *changesWatch) Err() error { return w.err }

// Close ends watching.
func (w *changesWatch) Close() {
	w.cancel()
	<-w.done
}

// mostContents bounds the versions of files in one answer, in bytes.
const mostContents = 16 << 20

// fitContents returns the versions of files that fit into one answer.
func fitContents(all map[string][]byte) map[string][]byte {
	out, size := map[string][]byte{}, 0
	for oid, data := range all {
		if size += len(data); size > mostContents {
			break
		}
		out[oid] = data
	}
	return out
}

func serveChangesWatch(ctx context.Context, c machine.Changes, s *pipe.Stream) error {
	var q changesCall
	if err := s.Receive(&q); err != nil {
		return err
	}
	w, err := c.Watch(ctx, q.WS, q.Dirs, q.Most)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := s.Send(struct{}{}); err != nil {
		return err
	}
	for said := range w.Written() {
		if err := s.Send(said); err != nil {
			return err
		}
	}
	return errors.Join(w.Err(), ctx.Err())
}
