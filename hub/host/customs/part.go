package customs

import (
	"context"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Config is what a Part needs besides the core.
type Config struct {
	Customs machine.Customs // nil: nothing is looked for
	Home    string          // the user's directory, where agents keep settings; "" is not looked at
	DataDir string          // the hub's own, which may declare servers; "" for none

	// WorktreeOf returns the worktree of a session and the directory that it was made from; ok is false without one.
	WorktreeOf func(*ahp.SessionState) (dir, repo string, ok bool)

	// Sandbox returns what the programs of a session are kept from; nil when that is nothing.
	Sandbox func(ctx context.Context, session ahp.URI) (*sandbox.Policy, error)

	// ServersChanged is called when the servers that an agent is to be given may have changed.
	ServersChanged func(session ahp.URI, served []Served)
}

// Part keeps what sessions are customized with, and their MCP servers.
type Part struct {
	core     *core.Core
	cfg      Config
	registry registry
}

// New returns a Part without decisions: call Load.
func New(c *core.Core, cfg Config) *Part {
	return &Part{core: c, cfg: cfg, registry: registry{by: map[ahp.URI]*contents{},
		decided: map[string]map[string]bool{},
		trusted: map[string]Trust{}, tokens: map[string]string{}}}
}

// Rules returns the checks of the actions that clients send on customizations and MCP servers.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{
		"session/customizationToggled":         core.Rule(p.checkToggled),
		"session/mcpServerStartRequested":      core.Rule(p.checkServerStart),
		"session/mcpServerStopRequested":       core.Rule(p.checkServerStop),
		"session/mcpServerBackgroundRequested": core.Rule(p.checkServerBackground),
	}
}

// Effects returns what the accepted actions on MCP servers do.
func (p *Part) Effects() map[string]core.Effect {
	return map[string]core.Effect{
		"session/mcpServerStartRequested":      core.On(p.startRequested),
		"session/mcpServerStopRequested":       core.On(p.stopRequested),
		"session/mcpServerBackgroundRequested": core.On(p.backgroundRequested),
	}
}

// registry holds what the part knows besides the channels. Its lock is taken inside of the hub's, never the other way
// round.
type registry struct {
	mu      sync.Mutex
	by      map[ahp.URI]*contents      // of the sessions in memory
	decided map[string]map[string]bool // scope → id → on
	trusted map[string]Trust           // by machine.ServerCommand.Digest
	tokens  map[string]string          // address of a server → token; in memory only
	closed  bool
}
