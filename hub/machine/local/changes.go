package local

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Data is the hub's data directory on this computer. Dir is absolute; only Dir and Guard are required.
type Data struct {
	Dir   string       // contains checkpoints and worktrees
	Guard *guard.Guard // of it

	Pass         []string             // names of additional environment variables for git and its hooks
	TrustFilters []string             // directories whose repositories' filters run when changes are read
	TrustHooks   []string             // directories in whose repositories git acts outside of sandboxes
	Notify       changeset.NotifyFunc // watches folders; nil: the operating system's watch
}

// WithData lets a Machine record changes, and denies access to the hub's data and secrets. The caller closes the guard.
func WithData(d Data) Option {
	return func(m *Machine) {
		m.guard = d.Guard
		m.changes = &changes{changeset.New(changeset.Config{
			Dir: filepath.Join(d.Dir, "checkpoints"), Worktrees: filepath.Join(d.Dir, "worktrees"),
			Refuse: func(path string) error { return errors.Join(d.Guard.CheckPath(path), d.Guard.CheckWhole(path)) },
			Ignore: d.Guard.Dirs, Closed: d.Guard.IsSecret, Pass: d.Pass, TrustFilters: d.TrustFilters,
			TrustHooks: d.TrustHooks, Notify: d.Notify, Boxes: boxes{m},
		})}
	}
}

// Changes returns the recorder of this computer's changes, or nil without WithData.
func (m *Machine) Changes() machine.Changes {
	if m.changes == nil {
		return nil
	}
	return m.changes
}

// changes implements machine.Changes.
type changes struct{ *changeset.Service }

func (c *changes) Watch(ctx context.Context, ws machine.Workspace, dirs []string, most int) (
	machine.ChangesWatch, error,
) {
	w, err := c.Service.Watch(ctx, ws, dirs, most)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// boxes runs git in the sandboxes of a machine.
type boxes struct{ m *Machine }

func (b boxes) Start(cmd *exec.Cmd, policy *sandbox.Policy) error {
	return b.m.programs.Start(cmd, policy)
}

func (b boxes) Forget(session string) error { return b.m.Forget(session) }
