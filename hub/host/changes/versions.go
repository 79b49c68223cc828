package changes

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
)

// Versions computes which version every changed file of a session has now, content and mode; while its computer is
// offline, which it had when they were computed last.
func (p *Part) Versions(ctx context.Context, session ahp.URI) (map[string]string, error) {
	svc := p.svc
	if svc == nil {
		return map[string]string{}, nil
	}
	if err := p.core.Ensure(ctx, session); err != nil {
		return nil, err
	}
	dirs := p.core.LocalDirs(session)
	now := func() (machine.Checkpoint, error) { return svc.LookAtAll(ctx, session, dirs) }
	files, _, err := p.changedIn(ctx, p.ledger(session), changeScope{kind: kindSession}, dirs, now)
	if errors.Is(err, machine.ErrOffline) {
		if shown, ok := p.shownVersions(ctx, session); ok {
			return shown, nil
		}
	}
	return versionsOf(files), err
}

func versionsOf(files []machine.ChangedFile) map[string]string {
	out := make(map[string]string, len(files))
	for _, f := range files {
		drawn, note := changesetFile("", f, false)
		out[drawn.ID] = note.version()
	}
	return out
}

// version names what a file was and is, content and mode.
func (n FileNote) version() string {
	return n.OldMode + " " + n.NewMode + " " + n.OldOID + ".." + n.NewOID
}

// ReviewDigest names the changes that the session changeset shows, for a verdict on them.
func ReviewDigest(files []ahp.ChangesetFile) string {
	versions := make(map[string]string, len(files))
	for _, f := range files {
		versions[f.ID] = ReadFileNote(f.Meta).version()
	}
	return review.Digest(versions)
}
