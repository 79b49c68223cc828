package worktrees

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

const (
	// metaWorktree is the key of a session's `_meta` that describes its worktree.
	metaWorktree = "ahphub/worktree"

	bucketWorktrees = "worktree" // key: session URI, value: machine.Worktree; kept while the session is in the trash
)

// Of returns a session's worktree; ok is false without one.
func Of(s *ahp.SessionState) (w machine.Worktree, ok bool) {
	raw, ok := s.Meta[metaWorktree]
	return w, ok && json.Unmarshal(raw, &w) == nil && w.Dir != ""
}

// Record records the worktree from Isolate, in the step that opens the session.
func Record(tx *hub.Tx, session ahp.URI, s *ahp.SessionState) {
	if raw := s.Meta[metaWorktree]; raw != nil {
		tx.Record(bucketWorktrees, session, raw)
	}
}

// Isolate creates the worktree that a new session's settings ask for. undo removes it and is never
// nil.
func (p *Part) Isolate(ctx context.Context, session ahp.URI, s *ahp.SessionState, step func(string)) (undo func(),
	err error) {
	undo = func() {}
	if core.ConfigValue(s, IsolationKey) != IsolationWorktree {
		return undo, nil
	}
	if len(s.WorkingDirectories) == 0 {
		return undo, core.BadParams("config: a session without a directory cannot have a worktree")
	}
	policy, err := p.cfg.Sandbox(session, s)
	if err != nil {
		return undo, err
	}
	step("Creating worktree")
	dir, _ := core.FilePath(s.WorkingDirectories[0])
	short := core.ShortID(session)
	w, dir, err := p.cfg.Repositories.AddWorktree(ctx, session, machine.NewWorktree{Dir: dir, Name: short,
		Branch: "ahphub/" + short, Base: core.ConfigValue(s, BaseKey), Sandbox: policy})
	if err != nil {
		if message, refused := machine.Refusal(err); refused {
			err = core.BadParams("config: the worktree cannot be created: %s", message)
		}
		return undo, err
	}
	undo = func() {
		if err := p.cfg.Repositories.RemoveWorktree(context.WithoutCancel(ctx), session, w, true); err != nil {
			p.core.Log.Warn("a worktree without a session is left behind", "dir", w.Dir, "err", err)
		}
	}
	raw, err := json.Marshal(w)
	if err != nil {
		undo()
		return func() {}, err
	}
	s.WorkingDirectories[0] = core.FileURI(dir)
	s.Meta = core.CloneMeta(s.Meta)
	s.Meta[metaWorktree] = raw
	return undo, nil
}

// Standing returns how far a session's worktree is from its base branch. Errors: -32008 no such
// session or worktree, -32009 not the owner.
func (p *Part) Standing(ctx context.Context, c core.Caller, session ahp.URI) (machine.WorktreeStanding, error) {
	w, err := p.findWorktree(ctx, c, session)
	if err != nil {
		return machine.WorktreeStanding{}, err
	}
	st, err := p.cfg.Repositories.Standing(ctx, session, w)
	return st, machine.ProtocolError(err)
}

// Merge merges a session's branch into its base branch, and returns the number of merged commits.
// Errors: -32008 no such session or worktree, -32009 not the owner, -32011 it cannot be merged now.
func (p *Part) Merge(ctx context.Context, c core.Caller, session ahp.URI) (commits int, err error) {
	w, err := p.findWorktree(ctx, c, session)
	if err != nil {
		return 0, err
	}
	commits, err = p.cfg.Repositories.MergeWorktree(ctx, session, w)
	return commits, machine.ProtocolError(err)
}

// Remove removes a session's worktree and its branch; without force, only if no work is lost. The
// session then works in its original directory. Errors: as Merge, and -32011 while a turn is
// running.
func (p *Part) Remove(ctx context.Context, c core.Caller, session ahp.URI, force bool) error {
	w, err := p.findWorktree(ctx, c, session)
	if err != nil {
		return err
	}
	if p.cfg.IsBusy(ctx, session) { // or an agent that is starting would lose its directory
		return ahp.Errorf(ahp.CodeConflict, "a turn is running in it. Stop the turn first")
	}
	if err := p.cfg.Repositories.RemoveWorktree(ctx, session, w, force); err != nil {
		return machine.ProtocolError(err)
	}
	p.cfg.CloseAgent(session) // it was started in the worktree
	err = p.core.Do(ctx, func(tx *hub.Tx) { leaveWorktree(tx, session, w) })
	p.RefreshBranch(session)
	return err
}

// leaveWorktree moves a session from its worktree to its original directory.
func leaveWorktree(tx *hub.Tx, session ahp.URI, w machine.Worktree) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	meta := core.CloneMeta(s.Meta)
	delete(meta, metaWorktree)
	tx.Apply(session, &ahp.SessionMetaChangedAction{Meta: meta})
	tx.Record(bucketWorktrees, session, nil)
	for _, uri := range s.WorkingDirectories {
		dir, _ := core.FilePath(uri)
		if rel, err := filepath.Rel(w.Dir, dir); err == nil && filepath.IsLocal(rel) {
			tx.Apply(session, &ahp.SessionWorkingDirectoryReplacedAction{Directory: uri,
				Replacement: core.FileURI(filepath.Join(w.Repo, rel))})
		}
	}
}

// findWorktree returns the worktree of a session if the caller is the owner.
func (p *Part) findWorktree(ctx context.Context, c core.Caller, session ahp.URI) (machine.Worktree, error) {
	info, known := p.core.Hub.Info(session)
	if !known || info.Kind != ahp.ChannelSession || !c.Audience().Sees(info) {
		return machine.Worktree{}, core.NoSession(session)
	}
	if !c.IsOwner() {
		return machine.Worktree{}, ahp.Errorf(ahp.CodePermissionDenied, "only the owner can merge or remove a worktree")
	}
	if err := p.core.Ensure(ctx, session); err != nil {
		return machine.Worktree{}, err
	}
	s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok {
		return machine.Worktree{}, core.NoSession(session)
	}
	w, ok := Of(s)
	if !ok {
		return machine.Worktree{}, ahp.Errorf(ahp.CodeNotFound, "this session has no worktree")
	}
	return w, nil
}

// HasUnsavedWork reports whether a session's worktree has work that exists nowhere else.
func (p *Part) HasUnsavedWork(ctx context.Context, s *ahp.SessionState) bool {
	w, ok := Of(s)
	if !ok {
		return false
	}
	at, err := p.cfg.Repositories.Standing(ctx, "", w)
	return err != nil || at.Commits > 0 || at.Uncommitted > 0
}

// removeForgotten removes the worktree of a session that cannot be restored, unless it has work
// that exists nowhere else.
func (p *Part) removeForgotten(ctx context.Context, session ahp.URI) {
	w, err := p.readRecord(ctx, session)
	if err != nil {
		p.core.Log.Warn("a worktree of a deleted session is left behind", "session", session, "err", err)
	}
	if w == nil || p.cfg.Repositories == nil {
		return
	}
	if err := p.cfg.Repositories.RemoveWorktree(ctx, session, *w, false); err != nil {
		p.core.Log.Warn("kept a worktree, because it has changes that are nowhere else", "dir", w.Dir, "branch",
			w.Branch, "err", err)
		return
	}
	_ = p.core.Do(ctx, func(tx *hub.Tx) { tx.Record(bucketWorktrees, session, nil) }) // fails only if the host stops
}

// readRecord returns the recorded worktree of a session, or nil.
func (p *Part) readRecord(ctx context.Context, session ahp.URI) (*machine.Worktree, error) {
	if p.core.Store == nil {
		return nil, nil
	}
	raw, ok, err := p.core.Store.Get(ctx, bucketWorktrees, session)
	if err != nil || !ok {
		return nil, err
	}
	var w *machine.Worktree
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", bucketWorktrees, session, err)
	}
	return w, nil
}
