package files

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// ReadIn reads a file of a session's directories. In the data directory only its own worktree is open.
func (p *Part) ReadIn(ctx context.Context, session ahp.URI, dirs []string, uri ahp.URI) (machine.FileContent, error) {
	reach := machine.FileReach{Roots: dirs, Worktrees: core.OwnWorktrees(session)}
	return p.cfg.Files.Read(ctx, reach, uri)
}

// IsWide reports whether a session works in a directory that holds everything of its owner. Guests read no files there.
func (p *Part) IsWide(dirs []ahp.URI) bool {
	return p.cfg.Files.IsWide(p.core.Ctx, core.LocalPaths(dirs))
}
