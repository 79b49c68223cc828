package host

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// checkPlace returns an error if a directory is closed to a session and its terminals.
func (h *Host) checkPlace(ctx context.Context, session ahp.URI, param, path string) error {
	if why := h.whyClosed(ctx, session, path); why != "" {
		return core.BadParams("%s: %s cannot be used: %s. Choose another directory", param, path, why)
	}
	return nil
}

// whyClosed returns why a path is closed to a session, or "".
func (h *Host) whyClosed(ctx context.Context, session ahp.URI, path string) string {
	return h.cfg.Machine.Files().Places(ctx, []string{path}, core.OwnWorktrees(session))[0].Closed
}
