package fence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// customs limits machine.Customs to open directories. It excludes the settings of this computer's user.
type customs struct {
	machine.Customs
	f *Machine
}

// Customs returns the finder of this computer's customizations, or nil if it has none.
func (f *Machine) Customs() machine.Customs {
	c := f.Machine.Customs()
	if c == nil {
		return nil
	}
	return customs{c, f}
}

// root returns a root as an open workspace.
func (c customs) root(root machine.CustomRoot) (machine.CustomRoot, error) {
	_, err := c.f.enter(root.Dir)
	root.Place = machine.WorkspacePlace
	return root, err
}

func (c customs) Look(ctx context.Context, root machine.CustomRoot) machine.CustomFound {
	root, err := c.root(root)
	if err != nil {
		return machine.CustomFound{}
	}
	return c.Customs.Look(ctx, root)
}

func (c customs) Follow(root machine.CustomRoot, changed func()) (stop func()) {
	root, err := c.root(root)
	if err != nil {
		return func() {}
	}
	return c.Customs.Follow(root, changed)
}

func (c customs) ReadPlugin(ctx context.Context, root machine.CustomRoot, dir string) (machine.CustomGroup, bool) {
	root, err := c.root(root)
	if err != nil || c.f.cfg.Guard.CheckPath(dir) != nil {
		return machine.CustomGroup{}, false
	}
	return c.Customs.ReadPlugin(ctx, root, dir)
}

func (c customs) ReadText(ctx context.Context, root machine.CustomRoot, path string, n int64) (string, bool, error) {
	root, err := c.root(root)
	if err == nil {
		err = c.f.cfg.Guard.CheckPath(path)
	}
	if err != nil {
		return "", false, err
	}
	return c.Customs.ReadText(ctx, root, path, n)
}

// Dial starts a server in an open directory, in its session's sandbox. Where there are sandboxes, a server gets no
// variables of this computer, and one with a URL is refused unless the network is open.
func (c customs) Dial(ctx context.Context, spec machine.ServerSpec) (machine.ServerConn, error) {
	command := &spec.Command
	placed, err := machine.ServerCommand{Dir: command.Dir, Workspace: command.Workspace, Plugin: command.Plugin}.Expand(
		func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	if command.URL == "" {
		if command.Dir, err = c.f.enter(placed.Dir); err != nil {
			return nil, err
		}
	}
	if !c.f.HasSandboxes() {
		spec.Sandbox, err = c.f.confine(spec.Sandbox, sandbox.Policy{})
		if err != nil {
			return nil, err
		}
		return c.Customs.Dial(ctx, spec)
	}
	if names := command.Reads(); len(names) > 0 {
		return nil, fmt.Errorf("it needs the variables %s of this machine, which no program in a sandbox reads",
			strings.Join(names, ", "))
	}
	if command.URL != "" {
		if c.f.cfg.Rules.Network != sandbox.Open || spec.Sandbox != nil && spec.Sandbox.Network != sandbox.Open {
			return nil, errors.New("it is reached by the network, which is not open to sessions of this machine")
		}
		return c.Customs.Dial(ctx, spec)
	}
	if spec.Sandbox, err = c.f.confine(spec.Sandbox, sandbox.Policy{Session: "in-" + nameOf(command.Dir),
		Write: []string{command.Dir}}); err != nil {
		return nil, err
	}
	return c.Customs.Dial(ctx, spec)
}
