package changes

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
)

// Versions computes the current versions (content and mode) of a session's changed files. While its
// computer is offline, it returns the last computed ones.
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

// version identifies both sides of a file by content and mode.
func (n FileNote) version() string {
	return n.OldMode + " " + n.NewMode + " " + n.OldOID + ".." + n.NewOID
}

// ReviewDigest returns the digest of the changes that the session's changeset shows, for verdicts.
func ReviewDigest(files []ahp.ChangesetFile) string {
	versions := make(map[string]string, len(files))
	for _, f := range files {
		versions[f.ID] = ReadFileNote(f.Meta).version()
	}
	return review.Digest(versions)
}
