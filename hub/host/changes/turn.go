package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// patience is the timeout of a turn's first checkpoint, which is slow if there are very many files.
const patience = 30 * time.Second

// TurnRef identifies a turn and its directories.
type TurnRef struct {
	Session, Chat ahp.URI
	Turn          string
	Dirs          []string // local paths
}

// StartTurn takes the checkpoint before a turn's changes. A resumed turn keeps its first one.
func (p *Part) StartTurn(ctx context.Context, ref TurnRef) {
	svc := p.svc
	if svc == nil || len(ref.Dirs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		errors.New("reading the directories took too long. Work in a smaller one, or add generated files to .gitignore"))
	defer cancel()
	l := p.ledger(ref.Session)
	if err := l.record.load(ctx); err != nil {
		p.logLostTurn(ref, err)
		return
	}
	old, err := l.turns.get(ctx, ref.Turn)
	if err != nil {
		p.logLostTurn(ref, err)
		return
	}
	r := turnRecord{dirs: p.resolveDirs(ref.Dirs)}
	if own := p.chatDirs(ref.Chat); len(own) > 0 {
		r.dirs = own
	}
	if old != nil {
		r.From, r.Overlap = old.From, old.Overlap
	} else if r.From, err = svc.Checkpoint(ctx, ref.Session, ref.Dirs); err != nil {
		p.logLostTurn(ref, err)
		return
	} else {
		l.record.setFirst(ctx, r.From)
		p.keepCheckpoint(ref.Session, r.From)
	}
	r.Overlap = p.running.begin(ref, &r) || r.Overlap
	l.turns.put(ctx, ref.Turn, r)
}

// firstCheckpoint returns the checkpoint that the session is compared with, and takes it if there
// is none.
func (p *Part) firstCheckpoint(ctx context.Context, l *ledger, dirs []string) (machine.Checkpoint, error) {
	if err := l.record.load(ctx); err != nil {
		return machine.Checkpoint{}, err
	}
	if had := l.record.first(); had != nil {
		return *had, nil
	}
	now, err := p.svc.Checkpoint(ctx, l.session, dirs)
	if err != nil {
		return now, err
	}
	l.record.setFirst(ctx, now)
	p.keepCheckpoint(l.session, now)
	return now, nil
}

// keepCheckpoint copies content in the background, as that is slow for a large repository.
func (p *Part) keepCheckpoint(session ahp.URI, c machine.Checkpoint) {
	p.core.Go(func() {
		if err := p.svc.Keep(p.core.Ctx, session, c); err != nil && p.core.Ctx.Err() == nil {
			p.core.Log.Warn("a checkpoint depends on the repository it was taken of", "session", session, "err", err)
		}
	})
}

// logLostTurn logs that a turn's changes will be unknown. The turn itself continues.
func (p *Part) logLostTurn(ref TurnRef, err error) {
	p.core.Log.Warn("cannot compute a turn's changes", "session", ref.Session, "turn", ref.Turn, "err", err)
}

// EndTurn takes the checkpoint after a turn and publishes the turn's changes.
func (p *Part) EndTurn(ctx context.Context, ref TurnRef) {
	svc := p.svc
	if svc == nil || len(ref.Dirs) == 0 {
		return
	}
	defer func() {
		p.running.end(ref.Turn)
		p.refreshNeighbours(ref)
	}()
	l := p.ledger(ref.Session)
	r, err := l.turns.get(ctx, ref.Turn)
	if err != nil || r == nil {
		return // no start checkpoint, as already logged
	}
	now, err := svc.Checkpoint(ctx, ref.Session, ref.Dirs)
	if err != nil {
		p.logLostTurn(ref, err)
		return
	}
	left := p.withinChat(ref.Chat, now)
	files, err := svc.Compare(ctx, ref.Session, r.From, left)
	if err != nil {
		p.logLostTurn(ref, err)
		return
	}
	p.edits.note(ctx, ref, p.running.sessionsWith(ref.Turn), files) // before others learn that the turn ended
	overlap := p.running.end(ref.Turn)
	done := turnRecord{From: r.From, To: &left, Overlap: r.Overlap || overlap, Changes: totals(files)}
	p.keepCheckpoint(ref.Session, now)
	l.turns.put(ctx, ref.Turn, done)
	l.record.change(ctx, func(rec *ledgerRecord) { rec.touch(namesOf(files)...) })
	p.publishTotals(ctx, l, ref, done, now)
	p.cfg.TurnEnded(ctx, ref.Session)
	p.cfg.RefreshBranch(ref.Session)
	p.followAway(ctx, ref)
	p.refresh(l)
	p.readSyntax(ref.Session, files)
}

// publishTotals publishes the turn's totals on the turn, and the session's on its summary.
func (p *Part) publishTotals(ctx context.Context, l *ledger, ref TurnRef, r turnRecord, now machine.Checkpoint) {
	first := l.record.first()
	all := []machine.ChangedFile{}
	if first != nil {
		var err error
		session := changeScope{kind: kindSession}
		if all, err = p.attribute(l, ref.Dirs).compare(ctx, session, *first, now); err != nil {
			p.core.Log.Warn("cannot compute a session's changes", "session", ref.Session, "err", err)
			return
		}
		p.publishChatTotals(ctx, ref, *first, now)
		p.cfg.Computed(ctx, ref.Session, func() map[string]string { return versionsOf(all) })
	}
	err := p.core.Do(ctx, func(tx *hub.Tx) {
		p.cfg.SetTotals(tx, ref.Session, totals(all))
		if chat, ok := hub.StateOf[*ahp.ChatState](tx, ref.Chat); ok && *r.Changes.Files > 0 && chat.ActiveTurn != nil {
			tx.Apply(ref.Chat, &ahp.ChatUsageAction{TurnID: ref.Turn, Usage: usageWith(chat.ActiveTurn.Usage,
				r.Changes)})
		}
	})
	if err != nil {
		p.core.Log.Warn("what a turn changed was not announced", "session", ref.Session, "turn", ref.Turn, "err", err)
	}
}

// usageWith stores the changes under the host's own key of the usage's `_meta`, as turns have no
// other field for them.
func usageWith(u *ahp.UsageInfo, changes *ahp.ChangesSummary) ahp.UsageInfo {
	var out ahp.UsageInfo
	if u != nil {
		out = *u
	}
	raw, err := json.Marshal(map[string]any{"changes": changes})
	if err != nil {
		return out // three numbers always encode
	}
	out.Meta = maps.Clone(out.Meta)
	if out.Meta == nil {
		out.Meta = ahp.Meta{}
	}
	out.Meta[core.MetaKey] = raw
	return out
}

func totals(files []machine.ChangedFile) *ahp.ChangesSummary {
	var add, del int64
	for _, f := range files {
		add, del = add+int64(f.Additions), del+int64(f.Deletions)
	}
	return &ahp.ChangesSummary{Additions: &add, Deletions: &del, Files: ahp.Ptr(int64(len(files)))}
}

// TurnTotals returns the totals of an ended turn; ok is false if they are unknown.
func (p *Part) TurnTotals(ctx context.Context, session ahp.URI, turn string) (added, removed, files int, ok bool) {
	r, err := p.ledger(session).turns.get(ctx, turn)
	if err != nil || r == nil || r.Changes == nil {
		return 0, 0, 0, false
	}
	return int(*r.Changes.Additions), int(*r.Changes.Deletions), int(*r.Changes.Files), true
}

// OverlapsTurn reports whether another turn ran in the same directories as a turn of a session.
func (p *Part) OverlapsTurn(ctx context.Context, session ahp.URI, turn string) (bool, error) {
	r, err := p.ledger(session).turns.get(ctx, turn)
	if err == nil && r == nil {
		err = fmt.Errorf("there is no turn %s", turn)
	}
	return err == nil && r.Overlap, err
}

// changedIn computes a scope's current files. now returns the current checkpoint.
func (p *Part) changedIn(ctx context.Context, l *ledger, scope changeScope, dirs []string,
	now func() (machine.Checkpoint, error)) (files []machine.ChangedFile, overlap bool, err error) {
	a := p.attribute(l, dirs)
	from, to, overlap, err := p.ends(ctx, l, scope, dirs, now)
	if err != nil {
		return nil, overlap, err
	}
	files, err = a.compare(ctx, scope, from, to)
	return slices.Clip(files), overlap, err
}

// ends returns the two checkpoints of a scope. Both are empty for a turn without checkpoints, whose
// changes are unknown.
func (p *Part) ends(ctx context.Context, l *ledger, scope changeScope, dirs []string,
	now func() (machine.Checkpoint, error)) (from, to machine.Checkpoint, overlap bool, err error) {
	return p.endsFrom(ctx, l, scope, dirs, now, func(ctx context.Context, scope changeScope,
		dirs []string) (machine.Checkpoint, error) {
		return p.base(ctx, l, scope, dirs)
	})
}

// endsFrom is ends, with base for the commits that scopes are compared with.
func (p *Part) endsFrom(ctx context.Context, l *ledger, scope changeScope, dirs []string,
	now func() (machine.Checkpoint, error),
	base func(context.Context, changeScope, []string) (machine.Checkpoint, error)) (from, to machine.Checkpoint,
	overlap bool, err error) {
	if scope.chat != "" {
		all := now
		now = func() (machine.Checkpoint, error) {
			c, err := all()
			if err != nil {
				return c, err
			}
			return p.scopeOfChat(ctx, l.session, scope, c)
		}
	}
	switch scope.kind {
	case kindSession:
		from, err = p.firstCheckpoint(ctx, l, dirs)
	case kindUncommitted, kindBranch:
		from, err = base(ctx, scope, dirs)
	case kindCompare:
		from, to, err = p.compareTurns(ctx, l, scope, now)
		return from, to, false, err
	case kindTurn:
		r, err := l.turns.get(ctx, scope.turn)
		if err != nil || r == nil {
			return from, to, false, err
		}
		if r.To != nil && !p.running.has(scope.turn) {
			return r.From, *r.To, r.Overlap, nil
		}
		if to, err = now(); err == nil && len(r.dirs) > 0 {
			to = to.Within(r.dirs)
		}
		return r.From, to, r.Overlap, err
	}
	if err == nil {
		to, err = now()
	}
	return from, to, overlap, err
}

// Patch returns a changeset's current content as a patch for git apply. Errors: -32008 no such
// changeset for this caller, -32603 it cannot be computed.
func (p *Part) Patch(ctx context.Context, c core.Caller, uri ahp.URI) ([]byte, error) {
	session, scope, ok := p.parseURI(uri)
	svc := p.svc
	if !ok || svc == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return nil, core.NoChannel(uri)
	}
	info, known, err := p.infoOf(ctx, uri, session, scope)
	if err != nil {
		return nil, err
	}
	if !known || !c.Audience().Sees(info) {
		return nil, core.NoChannel(uri)
	}
	if err := c.MayCall("subscribe", info); err != nil {
		return nil, err
	}
	dirs := p.core.LocalDirs(session)
	now := sync.OnceValues(func() (machine.Checkpoint, error) { return svc.LookAtAll(ctx, session, dirs) })
	own := p.attribute(p.ledger(session), dirs)
	from, to, _, err := p.ends(ctx, own.l, scope, dirs, now)
	var only []machine.ChangedFile
	if err == nil && (c.IsGuest() || scope.kind == kindSession) {
		only, err = own.compare(ctx, scope, from, to)
		if err == nil && c.IsGuest() {
			only, err = p.visibleFiles(ctx, c, own.l, scope, only, now)
		}
		if err == nil && len(only) == 0 {
			return nil, nil
		}
	}
	if err != nil {
		return nil, ahp.Errorf(ahp.CodeInternalError, "can't compute the changes: %v", err)
	}
	patch, err := svc.Patch(ctx, session, from, to, only...)
	if err != nil {
		return nil, ahp.Errorf(ahp.CodeInternalError, "can't create the patch: %v", err)
	}
	return patch, nil
}

// compareTurns returns the checkpoints after two turns; for a running turn, the current one.
func (p *Part) compareTurns(ctx context.Context, l *ledger, scope changeScope, now func() (machine.Checkpoint,
	error)) (from, to machine.Checkpoint, err error) {
	left := func(turn string) (machine.Checkpoint, error) {
		r, err := l.turns.get(ctx, turn)
		switch {
		case err != nil:
			return machine.Checkpoint{}, err
		case r == nil:
			return machine.Checkpoint{}, errors.New("the end of this turn was not recorded. Choose another turn")
		case r.To != nil && !p.running.has(turn):
			return *r.To, nil
		}
		return now()
	}
	if from, err = left(scope.other); err == nil {
		to, err = left(scope.turn)
	}
	return from, to, err
}
