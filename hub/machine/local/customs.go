package local

import (
	"context"
	"os/exec"

	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/mcp/dial"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// customs implements machine.Customs.
type customs struct {
	library *custom.Library
	servers dial.Dialer
}

// WithCustoms lets a Machine find customizations with a library, which the caller runs, and reach MCP servers.
func WithCustoms(library *custom.Library, servers dial.Dialer) Option {
	return func(m *Machine) {
		servers.Start = func(cmd *exec.Cmd, policy *sandbox.Policy) error { return m.programs.Start(cmd, policy) }
		m.customs = &customs{library, servers}
	}
}

// Customs returns the finder of this computer's customizations, or nil without WithCustoms.
func (m *Machine) Customs() machine.Customs {
	if m.customs == nil {
		return nil
	}
	return m.customs
}

func (c *customs) Look(_ context.Context, root machine.CustomRoot) machine.CustomFound {
	return c.library.Look(root)
}

func (c *customs) Follow(root machine.CustomRoot, changed func()) (stop func()) {
	return c.library.Follow(root, changed)
}

func (c *customs) ReadPlugin(_ context.Context, root machine.CustomRoot, dir string) (machine.CustomGroup, bool) {
	return custom.Plugin(root, dir, custom.Limits{})
}

func (c *customs) ReadText(_ context.Context, root machine.CustomRoot, path string, n int64) (string, bool, error) {
	return custom.Text(root, path, n)
}

func (c *customs) Dial(ctx context.Context, spec machine.ServerSpec) (machine.ServerConn, error) {
	return c.servers.Dial(ctx, spec)
}
