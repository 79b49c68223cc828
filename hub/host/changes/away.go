package changes

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// followAway computes a turn's changes on another computer although they have no viewer, so that
// they can be reviewed while that computer is offline.
func (p *Part) followAway(ctx context.Context, ref TurnRef) {
	if id, _, err := place.SplitPath(ref.Dirs[0]); err != nil || id == "" {
		return
	}
	for _, uri := range []ahp.URI{URI(ref.Session, kindSession, ""), URI(ref.Session, kindUncommitted, ""),
		URI(ref.Session, kindTurn, ref.Turn)} {
		_, scope, ok := p.parseURI(uri)
		if !ok {
			continue
		}
		info, known, err := p.infoOf(ctx, uri, ref.Session, scope)
		if err == nil && known {
			err = p.openChannel(ref.Session, info)
		}
		if err != nil {
			p.core.Log.Warn("changes are not known here while their machine is offline", "changeset", uri, "err", err)
			continue
		}
		p.Follow(uri)
	}
}

// keepShown keeps a changeset's last computed state if its computer is offline. It returns false if
// the changeset was never computed. The hub's lock is held.
func keepShown(tx *hub.Tx, uri ahp.URI, s *ahp.ChangesetState, failed error) bool {
	if !errors.Is(failed, machine.ErrOffline) || s.Status == ahp.ChangesetStatusComputing || s.Status == ahp.ChangesetStatusError {
		return false
	}
	if s.Status != ahp.ChangesetStatusReady {
		tx.Apply(uri, &ahp.ChangesetStatusChangedAction{Status: ahp.ChangesetStatusReady})
	}
	return true
}

// shownVersions returns the versions of a session's changed files when they were last computed.
func (p *Part) shownVersions(ctx context.Context, session ahp.URI) (map[string]string, bool) {
	uri := URI(session, kindSession, "")
	if p.wake(ctx, session, uri) != nil {
		return nil, false
	}
	s, ok := hub.StateOf[*ahp.ChangesetState](p.core.Hub, uri)
	if !ok || s.Status == ahp.ChangesetStatusComputing || s.Status == ahp.ChangesetStatusError {
		return nil, false
	}
	out := make(map[string]string, len(s.Files))
	for _, f := range s.Files {
		out[f.ID] = ReadFileNote(f.Meta).version()
	}
	return out, true
}

// openChannel opens a changeset's channel, with status computing, unless it is open or its session
// is disposed.
func (p *Part) openChannel(session ahp.URI, info hub.ChannelInfo) error {
	return p.core.Hub.Do(func(tx *hub.Tx) {
		if _, open := tx.Info(info.URI); open || p.core.Catalogue.Alive(session) == nil {
			return
		}
		p.core.MustOpen(tx, info, &ahp.ChangesetState{Status: ahp.ChangesetStatusComputing,
			Files: []ahp.ChangesetFile{}})
	})
}
