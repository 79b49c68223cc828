// Package local is the computer that the hub runs on, as hub/machine describes one.
package local

import (
	"os/exec"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
)

// Machine implements machine.Machine.
type Machine struct {
	agents    map[string]agent.Backend
	terminals terminals
	customs   *customs     // nil: none are looked for
	changes   *changes     // nil: none are recorded
	guard     *guard.Guard // nil: only the kernel's file systems are closed
}

// Option is a choice about a Machine.
type Option func(*Machine)

// New returns this computer.
func New(options ...Option) *Machine {
	m := &Machine{}
	for _, choose := range options {
		choose(m)
	}
	return m
}

// WithAgents lets a Machine run agents, by provider. Backends that run a program start it by StartProgram.
func WithAgents(agents map[string]agent.Backend) Option {
	return func(m *Machine) { m.agents = agents }
}

// Agents returns the agents of this computer.
func (m *Machine) Agents() map[string]agent.Backend { return m.agents }

// Terminals returns the pseudo terminals of this computer.
func (m *Machine) Terminals() machine.Terminals { return m.terminals }

// StartProgram starts a program of a session. Every such program is started here, so that what all of them are to be
// kept from is said in one place.
func StartProgram(cmd *exec.Cmd) error { return cmd.Start() }
