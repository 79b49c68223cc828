package host

import (
	"os"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/resource"
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

// filesIn opens directories of a session. In the data directory only its own work tree is open.
func (h *Host) filesIn(session ahp.URI, dirs []string) resource.Files {
	return resource.Files{Roots: dirs, Guard: h.guard, Worktrees: ownWorktrees(session)}
}

// ownWorktrees names what a session has in the data directory's worktrees.
func ownWorktrees(session ahp.URI) []string {
	if session == "" {
		return nil
	}
	return []string{core.ShortID(session)}
}

// checkPlace refuses a directory that a session or a terminal of it would work in.
func (h *Host) checkPlace(session ahp.URI, param, path string) error {
	if err := h.guard.CheckPath(path, ownWorktrees(session)...); err != nil {
		return core.BadParams("%s: %s cannot be used: %s. Choose another directory", param, path, refusalReason(err))
	}
	return nil
}

// refusalReason is a guard's reason; what else the system says stays here.
func refusalReason(err error) string {
	if guard.IsRefusal(err) {
		return err.Error()
	}
	return "it cannot be read"
}

// closed returns why a path is opened to no one, "" when it may be.
func (h *Host) closed(f resource.Grant) string {
	err := h.guard.CheckPath(f.Path)
	if err == nil && f.Dir {
		err = h.guard.CheckWhole(f.Path)
	}
	if err != nil {
		return refusalReason(err)
	}
	return ""
}
