// Package local is the computer that the hub runs on, as a machine.Machine.
package local

import (
	"errors"
	"os"
	"os/exec"
	"slices"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box"
)

// Machine implements machine.Machine.
type Machine struct {
	agents   func() map[string]agent.Backend
	programs Programs
	customs  *customs     // nil: customizations are not searched
	changes  *changes     // nil: changes are not recorded
	guard    *guard.Guard // nil: only the kernel's file systems are closed
}

// Option configures a Machine.
type Option func(*Machine)

// New returns this computer.
func New(options ...Option) *Machine {
	m := &Machine{agents: func() map[string]agent.Backend { return nil }}
	for _, choose := range options {
		choose(m)
	}
	return m
}

// WithAgents lets a Machine run agents, by provider. Backends that run a program start it with a Programs.
func WithAgents(agents map[string]agent.Backend) Option {
	return WithLiveAgents(func() map[string]agent.Backend { return agents })
}

// WithLiveAgents is WithAgents for agents that appear while the Machine is used. Each agent stays the same value, and
// the map that find returns must not change later.
func WithLiveAgents(find func() map[string]agent.Backend) Option {
	return func(m *Machine) { m.agents = find }
}

// Agents returns the agents of this computer.
func (m *Machine) Agents() map[string]agent.Backend { return m.agents() }

// Terminals returns the pseudo terminals of this computer.
func (m *Machine) Terminals() machine.Terminals { return terminals{m.programs} }

// CheckSandbox returns why programs cannot run in a sandbox with a policy.
func (m *Machine) CheckSandbox(p *sandbox.Policy) error {
	if m.programs.Boxes == nil {
		return errNoBoxes
	}
	return m.programs.Boxes.Check(p)
}

// Forget removes what a session's programs left on this computer outside of its directories.
func (m *Machine) Forget(session string) error {
	if m.programs.Boxes == nil {
		return nil
	}
	return m.programs.Boxes.Forget(session)
}

// Programs starts the programs of sessions. Every such program is started here, so one place decides about sandboxes.
type Programs struct {
	Boxes *box.Boxes // nil: no sandboxes
}

// errNoBoxes refuses to start a program without its required sandbox.
var errNoBoxes = errors.New("sandboxes are not set up on this server")

// Start starts a program under a policy; nil is without a sandbox. prefix is a command that runs the program from
// outside, for example in a resource scope.
func (p Programs) Start(cmd *exec.Cmd, policy *sandbox.Policy, prefix ...string) error {
	switch {
	case policy != nil && p.Boxes == nil:
		return errNoBoxes
	case policy != nil:
		return p.Boxes.Start(cmd, policy, prefix...)
	case len(prefix) > 0 && cmd.Err == nil:
		cmd.Args = slices.Concat(prefix, []string{cmd.Path}, cmd.Args[1:])
		cmd.Path = prefix[0]
	}
	return cmd.Start()
}

// openTerminal returns a function that opens a pseudo terminal for a program, or nil for one of the host.
func (p Programs) openTerminal(policy *sandbox.Policy) func() (pty, tty *os.File, err error) {
	if policy == nil || p.Boxes == nil {
		return nil
	}
	return func() (pty, tty *os.File, err error) { return p.Boxes.OpenTerminal(policy) }
}

// WithPrograms lets a Machine start programs with p, which its agents use too.
func WithPrograms(p Programs) Option { return func(m *Machine) { m.programs = p } }
