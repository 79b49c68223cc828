package customs

import (
	"context"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Config configures a Part.
type Config struct {
	Customs machine.Customs // nil: no customizations
	Home    string          // the user's directory with agents' settings; "": not searched
	DataDir string          // the hub's own, which may declare servers; "": none

	// WorktreeOf returns a session's worktree and its original directory; ok is false without one.
	WorktreeOf func(*ahp.SessionState) (dir, repo string, ok bool)

	// Sandbox returns the sandbox policy of a session, or nil without a sandbox.
	Sandbox func(ctx context.Context, session ahp.URI) (*sandbox.Policy, error)

	// ServersChanged is called when an agent's servers may have changed.
	ServersChanged func(session ahp.URI, served []Served)
}

// Part manages the sessions' customizations and their MCP servers.
type Part struct {
	core     *core.Core
	cfg      Config
	registry registry
}

// New returns a Part without decisions. Call Load before use.
func New(c *core.Core, cfg Config) *Part {
	return &Part{core: c, cfg: cfg, registry: registry{by: map[ahp.URI]*contents{},
		decided: map[string]map[string]bool{},
		trusted: map[string]Trust{}, tokens: map[string]string{}}}
}

// Rules returns the checks of clients' actions on customizations and MCP servers.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{
		"session/customizationToggled":         core.Rule(p.checkToggled),
		"session/mcpServerStartRequested":      core.Rule(p.checkServerStart),
		"session/mcpServerStopRequested":       core.Rule(p.checkServerStop),
		"session/mcpServerBackgroundRequested": core.Rule(p.checkServerBackground),
	}
}

// Effects returns the effects of accepted actions on MCP servers.
func (p *Part) Effects() map[string]core.Effect {
	return map[string]core.Effect{
		"session/mcpServerStartRequested":      core.On(p.startRequested),
		"session/mcpServerStopRequested":       core.On(p.stopRequested),
		"session/mcpServerBackgroundRequested": core.On(p.backgroundRequested),
	}
}

// registry holds the part's state outside channels. Its lock is taken below the hub's.
type registry struct {
	mu      sync.Mutex
	by      map[ahp.URI]*contents      // of loaded sessions
	decided map[string]map[string]bool // scope → id → enabled
	trusted map[string]Trust           // by machine.ServerCommand.Digest
	tokens  map[string]string          // server address → token; only in memory
	closed  bool
}
