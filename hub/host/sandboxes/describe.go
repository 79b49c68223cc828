package sandboxes

import (
	"encoding/json"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// note describes, under the host's own key of `_meta`, the sandbox of a call that is ready.
type note struct {
	Mode    sandbox.Mode    `json:"mode"`
	Network sandbox.Network `json:"network,omitempty"`
	Image   string          `json:"image,omitempty"`  // of the container
	Needs   []string        `json:"needs,omitempty"`  // what a command seems to need but the sandbox lacks
	Inside  bool            `json:"inside,omitempty"` // the agent itself runs the call, so it cannot run outside
}

// Describe notes on a call that is ready what the session's sandbox allows and what the call seems
// to need in addition. outside reports whether the host could run the call outside the sandbox:
// other agents run theirs themselves, inside.
func (p *Part) Describe(session ahp.URI, s *ahp.SessionState, kind string, a *ahp.ChatToolCallReadyAction) (outside bool) {
	if mode, ok := p.elsewhere(s.Provider); ok { // that machine runs everything in its own sandboxes
		addNote(a, note{Mode: mode, Inside: mode != sandbox.None})
		return false
	}
	if p.cfg.Rules == nil {
		return false
	}
	policy, err := p.PolicyFor(session, s)
	if err != nil {
		return false // the call will fail with this error
	}
	n := note{Mode: sandbox.None}
	if policy != nil {
		outside = p.runsCommands(s.Provider, kind)
		n = note{Mode: policy.Mode, Network: policy.Network, Inside: !outside}
		if info, ok := p.Container(session, s); ok {
			n.Image = info.Image
		}
		if a.ToolInput != nil && outside {
			n.Needs = policy.Missing(a.ToolInput.Text, p.cfg.Home)
		}
	}
	addNote(a, n)
	return outside
}

// addNote adds a note to a call that is ready.
func addNote(a *ahp.ChatToolCallReadyAction, n note) {
	var own map[string]any
	if json.Unmarshal(a.Meta[core.MetaKey], &own) != nil || own == nil {
		own = map[string]any{}
	}
	own["sandbox"] = n
	raw, err := json.Marshal(own)
	if err != nil {
		return // plain values always encode
	}
	a.Meta = core.CloneMeta(a.Meta)
	a.Meta[core.MetaKey] = raw
}

// runsCommands reports whether the host, not the agent, runs an agent's calls of a kind.
func (p *Part) runsCommands(provider, kind string) bool {
	by, ok := p.cfg.Agent(provider).(agent.HostRun)
	return ok && by.HostRuns() && kind == agent.CommandTool
}
