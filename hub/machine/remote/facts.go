package remote

import (
	"errors"
	"fmt"

	"github.com/ahphub/ahphub/hub/agent"
)

// facts is what a computer reports when it connects.
type facts struct {
	Changes, Customs bool
	Shells           []string
	Agents           map[string]agentFacts

	machine *Machine
}

// describeCall asks a computer for its facts. It is the first call on a connection.
type describeCall struct {
	Run string // of the hub: everything that its earlier runs started on the computer ends
}

// agentFacts are the optional features of a Backend.
type agentFacts struct {
	HomeWrite, HomeRead []string
	Hosts               []string
	UsesTools           bool
	HostRuns            bool
	Confined            bool
	Authenticates       bool
	Icon                string
}

// Bounds of a machine's facts.
const (
	mostAgents = 100
	mostNames  = 1000
)

// check refuses facts that no real computer has.
func (f *facts) check() error {
	if len(f.Agents) > mostAgents || len(f.Shells) > mostNames {
		return errors.New("the machine names more agents or shells than any computer has")
	}
	for name, a := range f.Agents {
		if name == "" || len(name) > 100 || len(a.Icon) > 100 ||
			max(len(a.HomeWrite), len(a.HomeRead), len(a.Hosts)) > mostNames {
			return fmt.Errorf("the machine describes the agent %.40q with more than any agent has", name)
		}
	}
	return nil
}

func (f *facts) backends() map[string]agent.Backend {
	out := make(map[string]agent.Backend, len(f.Agents))
	for name, a := range f.Agents {
		out[name] = &backend{f.machine, name, a}
	}
	return out
}

// factsOf returns the facts of an agent of this computer.
func factsOf(b agent.Backend) (f agentFacts) {
	if k, ok := b.(agent.HomeKeeper); ok {
		f.HomeWrite, f.HomeRead = k.HomePaths()
	}
	if o, ok := b.(agent.Online); ok {
		f.Hosts = o.Hosts()
	}
	if u, ok := b.(agent.ToolUser); ok {
		f.UsesTools = u.UsesTools()
	}
	if r, ok := b.(agent.HostRun); ok {
		f.HostRuns = r.HostRuns()
	}
	if i, ok := b.(agent.Iconed); ok {
		f.Icon = i.Icon()
	}
	_, f.Confined = b.(agent.Confined)
	_, f.Authenticates = b.(agent.Authenticator)
	return f
}
