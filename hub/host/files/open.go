package files

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/resource"
)

// filesIn opens directories of a session. In the data directory only its own work tree is open.
func (pt *Part) FilesIn(session ahp.URI, dirs []string) resource.Files {
	return resource.Files{Roots: dirs, Guard: pt.cfg.Guard, Worktrees: core.OwnWorktrees(session)}
}

// closed returns why a path is opened to no one, "" when it may be.
func (pt *Part) closed(f resource.Grant) string {
	err := pt.cfg.Guard.CheckPath(f.Path)
	if err == nil && f.Dir {
		err = pt.cfg.Guard.CheckWhole(f.Path)
	}
	if err != nil {
		return guard.Reason(err)
	}
	return ""
}
