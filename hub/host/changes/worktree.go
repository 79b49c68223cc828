package changes

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

const (
	IsolationKey      = "isolation"    // the setting that says where a session works
	WorktreeBaseKey   = "worktreeBase" // and what its work tree begins at
	IsolationFolder   = "folder"
	IsolationWorktree = "worktree"

	// worktreeKey is where a session's `_meta` tells of its work tree.
	worktreeKey = "ahphub/worktree"

	bucketWorktrees = "worktree" // key: session URI, value: machine.Worktree; kept while the session is in the trash
)

// isolationEnum holds the JSON of the values of IsolationKey.
var isolationEnum = [...]json.RawMessage{json.RawMessage(`"` + IsolationFolder + `"`),
	json.RawMessage(`"` + IsolationWorktree + `"`)}

// AddSettings adds the settings of worktrees, which the host has for every agent, to an agent's own.
func (p *Part) AddSettings(schema ahp.SessionConfigSchema) ahp.SessionConfigSchema {
	if p.svc == nil {
		return schema
	}
	schema.Type = "object"
	schema.Properties = maps.Clone(schema.Properties)
	if schema.Properties == nil {
		schema.Properties = map[string]ahp.SessionConfigPropertySchema{}
	}
	schema.Properties[IsolationKey] = ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Workspace", Description: "The current directory or a new git worktree",
		Default: isolationEnum[0], Enum: isolationEnum[:],
		EnumLabels: []string{"Current directory", "New worktree"},
		EnumDescriptions: []string{"Shares changes with other sessions here",
			"Isolated branch from the latest commit; merge when you're ready"},
	}
	schema.Properties[WorktreeBaseKey] = ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Worktree base",
		Description: "A branch, tag or commit. Leave empty to use the current checkout",
		EnumDynamic: ahp.Ptr(true),
	}
	return schema
}

// WorktreeOf is a session's work tree; false when it has none any more.
func WorktreeOf(s *ahp.SessionState) (w machine.Worktree, ok bool) {
	raw, ok := s.Meta[worktreeKey]
	return w, ok && json.Unmarshal(raw, &w) == nil && w.Dir != ""
}

// Isolate gives a new session its work tree, when it is to have one. The func takes it away again.
func (p *Part) Isolate(ctx context.Context, session ahp.URI, s *ahp.SessionState, step func(string)) (undo func(),
	err error) {
	undo = func() {}
	if core.ConfigValue(s, IsolationKey) != IsolationWorktree {
		return undo, nil
	}
	if len(s.WorkingDirectories) == 0 {
		return undo, core.BadParams("config: a session without a directory cannot have a worktree")
	}
	step("Creating worktree")
	dir, _ := core.FilePath(s.WorkingDirectories[0])
	svc, short := p.svc, core.ShortID(session)
	w, dir, err := svc.AddWorktree(ctx, session, machine.NewWorktree{Dir: dir, Name: short, Branch: "ahphub/" + short,
		Base: core.ConfigValue(s, WorktreeBaseKey)})
	if err != nil {
		if errors.Is(err, machine.ErrConflict) {
			return undo, core.BadParams("config: the worktree cannot be created: %s", plainConflict(err))
		}
		if message, refused := machine.Refusal(err); refused {
			return undo, core.BadParams("config: the worktree cannot be created: %s", message)
		}
		return undo, err
	}
	undo = func() {
		if err := svc.RemoveWorktree(context.WithoutCancel(ctx), session, w, true); err != nil {
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
	s.Meta[worktreeKey] = raw
	return undo, nil
}

func plainConflict(err error) string {
	return strings.ReplaceAll(err.Error(), machine.ErrConflict.Error()+": ", "")
}

// WorktreeStanding tells how far a session's work tree is from where it came from. Errors: -32008 no such session
// or work tree, -32009 not the owner.
func (p *Part) WorktreeStanding(ctx context.Context, c core.Caller, session ahp.URI) (machine.WorktreeStanding, error) {
	w, err := p.worktree(ctx, c, session)
	if err != nil {
		return machine.WorktreeStanding{}, err
	}
	st, err := p.svc.Standing(ctx, session, w)
	return st, ConflictError(err)
}

// MergeWorktree merges a session's branch into the one its work tree was made from, and says how many commits that
// were.
// Errors: -32008 no such session or work tree, -32009 not the owner, -32011 it cannot be merged now.
func (p *Part) MergeWorktree(ctx context.Context, c core.Caller, session ahp.URI) (int, error) {
	w, err := p.worktree(ctx, c, session)
	if err != nil {
		return 0, err
	}
	n, err := p.svc.MergeWorktree(ctx, session, w)
	return n, ConflictError(err)
}

// RemoveWorktree takes a session's work tree and its branch away; unless force is set only when nothing is lost by it.
// The session then works in the directory it was made for. Errors: as MergeWorktree, and -32011 while a turn runs.
func (p *Part) RemoveWorktree(ctx context.Context, c core.Caller, session ahp.URI, force bool) error {
	w, err := p.worktree(ctx, c, session)
	if err != nil {
		return err
	}
	if p.cfg.IsBusy(ctx, session) { // an agent that is starting is not to find its directory gone
		return ahp.Errorf(ahp.CodeConflict, "a turn is running in it. Stop the turn first")
	}
	if err := ConflictError(p.svc.RemoveWorktree(ctx, session, w, force)); err != nil {
		return err
	}
	p.cfg.CloseAgent(session) // its agent was started in the work tree
	err = p.core.Do(ctx, func(tx *hub.Tx) { leaveWorktree(tx, session, w) })
	p.requestBranch(p.ledger(session))
	return err
}

func leaveWorktree(tx *hub.Tx, session ahp.URI, w machine.Worktree) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	meta := core.CloneMeta(s.Meta)
	delete(meta, worktreeKey)
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

// worktree finds the work tree of a session of the owner's.
func (p *Part) worktree(ctx context.Context, c core.Caller, session ahp.URI) (machine.Worktree, error) {
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
	w, ok := WorktreeOf(s)
	if !ok {
		return machine.Worktree{}, ahp.Errorf(ahp.CodeNotFound, "this session has no worktree")
	}
	return w, nil
}

// ConflictError turns what git or the service refuses into an error of the protocol, with what to do.
func ConflictError(err error) error {
	if message, refused := machine.Refusal(err); refused {
		return ahp.Errorf(ahp.CodeConflict, "%s", message)
	}
	if errors.Is(err, machine.ErrConflict) {
		return ahp.Errorf(ahp.CodeConflict, "%s", plainConflict(err))
	}
	return err
}

// ForgetWorktree takes away the work tree of a session that cannot be restored any more, unless something would be
// lost.
func (p *Part) ForgetWorktree(ctx context.Context, session ahp.URI) {
	var w *machine.Worktree
	if err := p.keep.read(ctx, bucketWorktrees, session, &w); err != nil || w == nil {
		return
	}
	if err := p.svc.RemoveWorktree(ctx, session, *w, false); err != nil {
		p.core.Log.Warn("kept a worktree, because it has changes that are nowhere else", "dir", w.Dir, "branch",
			w.Branch, "err", err)
		return
	}
	_ = p.core.Do(ctx, func(tx *hub.Tx) { tx.Record(bucketWorktrees, session, nil) }) // fails only when the host stops
}

// HasUnsavedWork reports whether something lies in a session's worktree that is nowhere else.
func (p *Part) HasUnsavedWork(ctx context.Context, s *ahp.SessionState) bool {
	w, ok := WorktreeOf(s)
	if !ok {
		return false
	}
	at, err := p.svc.Standing(ctx, "", w)
	return err != nil || at.Commits > 0 || at.Uncommitted > 0
}

// RecordWorktree records, in the step that opens a session, the worktree that Isolate gave it.
func RecordWorktree(tx *hub.Tx, session ahp.URI, s *ahp.SessionState) {
	if raw := s.Meta[worktreeKey]; raw != nil {
		tx.Record(bucketWorktrees, session, raw)
	}
}
