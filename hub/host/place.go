package host

import (
	"os"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/host/core"
)

// newGuard returns the guard of the data directory, which it makes when it is absent.
func newGuard(dataDir string, secrets []string) (*guard.Guard, error) {
	if dataDir == "" {
		return &guard.Guard{}, nil
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, err
	}
	return guard.New(dataDir, secrets...)
}

// checkPlace refuses a directory that a session or a terminal of it would work in.
func (h *Host) checkPlace(session ahp.URI, param, path string) error {
	if err := h.guard.CheckPath(path, core.OwnWorktrees(session)...); err != nil {
		return core.BadParams("%s: %s cannot be used: %s. Choose another directory", param, path, guard.Reason(err))
	}
	return nil
}
