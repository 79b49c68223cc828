package fence_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fence"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// dialed is a computer that records how its servers are reached.
type dialed struct {
	machine.Machine
	specs []machine.ServerSpec
}

func (d *dialed) Customs() machine.Customs { return dials{d: d} }

type dials struct {
	machine.Customs
	d *dialed
}

func (d dials) Dial(_ context.Context, spec machine.ServerSpec) (machine.ServerConn, error) {
	d.d.specs = append(d.d.specs, spec)
	return nil, nil
}

func TestServersOfAHostileHubStayInside(t *testing.T) {
	w := newWorld(t)
	rules := &sandbox.Rules{Mode: sandbox.Auto, Boxed: sandbox.Namespace, Network: sandbox.List, Dir: w.data + "/boxes"}
	for name, r := range map[string]*sandbox.Rules{"without sandboxes": nil, "in sandboxes": rules} {
		d := &dialed{Machine: w.Machine}
		c := fence.New(d, fence.Config{Guard: w.guard, Dirs: []string{w.open}, Data: w.data, Rules: r}).Customs()
		dial := func(command machine.ServerCommand) error {
			_, err := c.Dial(t.Context(), machine.ServerSpec{Name: "s", Command: command})
			return err
		}
		repo := filepath.Join(w.open, "repo")
		for what, dir := range map[string]string{"a neighbour": w.closed, "the data": w.data,
			"a placeholder": "${workspaceFolder}/../../src-private"} {
			checkRefused(t, name+" "+what, dial(machine.ServerCommand{Argv: []string{"sh"}, Dir: dir, Workspace: repo}))
		}
		if err := dial(machine.ServerCommand{Argv: []string{"sh"}, Dir: "${workspaceFolder}",
			Workspace: repo}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(d.specs) != 1 || d.specs[0].Command.Dir != repo || (d.specs[0].Sandbox != nil) != (r != nil) {
			t.Errorf("%s: started is %+v", name, d.specs)
		}
		if r == nil {
			continue
		}
		err := dial(machine.ServerCommand{Argv: []string{"echo", "${env:SECRET}"}, Dir: repo})
		if err == nil || !strings.Contains(err.Error(), "SECRET") {
			t.Errorf("a variable of the machine is refused with %v", err)
		}
		if err := dial(machine.ServerCommand{URL: "http://127.0.0.1:1/"}); err == nil {
			t.Error("a server is reached past the network of the machine's sandboxes")
		}
	}
}
