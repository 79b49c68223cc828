package files

import (
	"context"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// ReadIn reads a file in a session's directories. In the data directory, only the session's own
// worktree is open.
func (p *Part) ReadIn(ctx context.Context, session ahp.URI, dirs []string, uri ahp.URI) (machine.FileContent, error) {
	reach := machine.FileReach{Roots: dirs, Worktrees: core.OwnWorktrees(session)}
	return p.cfg.Files.Read(ctx, reach, uri)
}

// ReadShared reads a file in a session's directories that every guest of the whole session may
// read.
func (p *Part) ReadShared(ctx context.Context, session, uri ahp.URI) ([]byte, error) {
	guest := core.Caller{Principal: access.Principal{Role: access.RoleViewer, Session: session}}
	reach := machine.FileReach{Roots: p.core.LocalDirs(session), Worktrees: core.OwnWorktrees(session)}
	got, err := p.read(ctx, guest, reach, uri)
	return got.Data, err
}
