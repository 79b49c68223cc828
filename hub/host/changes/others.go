package changes

import (
	"context"
	"maps"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// attribution separates a session's changes from those of other sessions' turns in the same
// directories.
type attribution struct {
	p      *Part
	l      *ledger
	dirs   []string
	others bool // only other sessions' turns were running when the look began
}

// attribute returns the attribution of a session's changes. Call it before looking at the files, as
// concurrent writes of other turns are attributed only when these end.
func (p *Part) attribute(l *ledger, dirs []string) attribution {
	a := attribution{p: p, l: l, dirs: p.resolveDirs(dirs)}
	a.others = p.running.runsOnlyElsewhere(l.session, a.dirs)
	return a
}

// compare returns the differences between two checkpoints, for a whole session without other
// sessions' changes.
func (a attribution) compare(ctx context.Context, scope changeScope, from, to machine.Checkpoint) ([]machine.ChangedFile,
	error) {
	files, err := a.p.svc.Compare(ctx, a.l.session, from, to)
	if err != nil {
		return nil, err
	}
	return a.ownFiles(ctx, scope, files)
}

// ownFiles removes files that only other sessions' turns changed. While only such turns run, it
// also removes files that were not shown before, which may be their work, until they end.
func (a attribution) ownFiles(ctx context.Context, scope changeScope, files []machine.ChangedFile) ([]machine.ChangedFile,
	error) {
	if scope.kind != kindSession || len(files) == 0 {
		return files, nil
	}
	if err := a.p.edits.load(ctx); err != nil {
		return nil, err
	}
	if err := a.l.record.load(ctx); err != nil {
		return nil, err
	}
	waits := func(machine.ChangedFile) bool { return false }
	if a.others || a.p.running.runsOnlyElsewhere(a.l.session, a.dirs) {
		shown := a.shownFiles(scope)
		waits = func(f machine.ChangedFile) bool { return !shown[core.FileURI(f.Name())] }
	}
	own := make([]machine.ChangedFile, 0, len(files))
	for _, f := range files {
		touched := a.l.record.hasTouched(f.Name()) || a.l.record.hasTouched(f.OldName())
		if touched || !a.p.edits.explains(a.l.session, f) && !waits(f) {
			own = append(own, f)
		}
	}
	return own, nil
}

// shownFiles returns the ids of files in the current changeset of a whole session, or of a chat's
// directories.
func (a attribution) shownFiles(scope changeScope) map[ahp.URI]bool {
	uri := URI(a.l.session, kindSession, "")
	if scope.chat != "" {
		uri = changesetScheme + core.ShortID(a.l.session) + "/chat/" + scope.chat + "/" + kindSession
	}
	shown := map[ahp.URI]bool{}
	if s, ok := hub.StateOf[*ahp.ChangesetState](a.p.core.Hub, uri); ok {
		for _, f := range s.Files {
			shown[f.ID] = true
		}
	}
	return shown
}

// refreshNeighbours requests looks for other sessions in the directories of an ended turn.
func (p *Part) refreshNeighbours(ref TurnRef) {
	dirs := p.resolveDirs(ref.Dirs)
	p.mu.Lock()
	ledgers := slices.Collect(maps.Values(p.ledgers))
	p.mu.Unlock()
	for _, l := range ledgers {
		if l.session != ref.Session && l.schedule.isFollowed() &&
			isNested(p.resolveDirs(p.core.LocalDirs(l.session)), dirs) {
			p.requestLook(l, lookRequest{})
		}
	}
}
