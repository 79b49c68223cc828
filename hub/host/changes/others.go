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

// attribution tells a session's changes from those that other sessions' turns made in the same directories.
type attribution struct {
	p      *Part
	l      *ledger
	dirs   []string
	others bool // turns of other sessions alone ran when the look began
}

// attribute returns the attribution of a session's changes. It comes before the look at the files: what others write
// meanwhile is not known as theirs until their turn ends.
func (p *Part) attribute(l *ledger, dirs []string) attribution {
	a := attribution{p: p, l: l, dirs: p.resolveDirs(dirs)}
	a.others = p.running.runsOnlyElsewhere(l.session, a.dirs)
	return a
}

// compare lists what differs between two checkpoints, in the scope of a whole session without the work of others.
func (a attribution) compare(ctx context.Context, scope changeScope, from, to machine.Checkpoint) ([]machine.ChangedFile,
	error) {
	files, err := a.p.svc.Compare(ctx, a.l.session, from, to)
	if err != nil {
		return nil, err
	}
	return a.ownFiles(ctx, scope, files)
}

// ownFiles leaves out the files whose every change was made by turns of other sessions. While such turns run and none
// of the session's, files that were not shown before may be their work: they wait for the end.
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

// shownFiles are the ids of the files that the changeset of a whole session, or of a chat's directories, shows now.
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

// refreshNeighbours has the sessions looked at again that work in the directories of a turn that ended.
func (p *Part) refreshNeighbours(ref TurnRef) {
	dirs := p.resolveDirs(ref.Dirs)
	p.mu.Lock()
	ledgers := slices.Collect(maps.Values(p.ledgers))
	p.mu.Unlock()
	for _, l := range ledgers {
		if l.session != ref.Session && l.schedule.isFollowed() &&
			isNested(p.resolveDirs(p.core.LocalDirs(l.session)), dirs) {
			p.requestLook(l, wanted{})
		}
	}
}
