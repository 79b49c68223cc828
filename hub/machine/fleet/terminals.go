package fleet

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// routedTerminals implements machine.Terminals.
type routedTerminals struct{ *Route }

// Terminals returns all computers' pseudo terminals. A program runs on the computer of its directory.
func (r *Route) Terminals() machine.Terminals { return routedTerminals{r} }

// Shells returns the shells of the hub's own computer.
func (t routedTerminals) Shells() []string { return t.own.Terminals().Shells() }

func (t routedTerminals) DrawText(printed string, cols, rows int) string {
	return t.own.Terminals().DrawText(printed, cols, rows)
}

func (t routedTerminals) Start(ctx context.Context, spec machine.TerminalSpec, emit func([]ahp.Action)) (
	machine.Terminal, error,
) {
	n, dir, err := t.path(spec.Dir)
	if err != nil {
		return nil, err
	}
	if spec.Sandbox, err = splitPolicy(n.id, spec.Sandbox); err != nil {
		return nil, err
	}
	if n.id == "" {
		return n.Terminals().Start(ctx, spec, emit)
	}
	spec.Dir = dir
	started, err := n.Terminals().Start(ctx, spec, func(actions []ahp.Action) { emit(n.renameDirs(actions)) })
	return started, n.explain(err, place.FileURI(dir))
}

// renameDirs converts the directories in a terminal's actions into the hub's spelling.
func (n node) renameDirs(actions []ahp.Action) []ahp.Action {
	out := make([]ahp.Action, 0, len(actions))
	for _, a := range actions {
		if c, ok := a.(*ahp.TerminalCwdChangedAction); ok {
			uri, err := place.JoinURI(n.id, c.Cwd)
			if err != nil {
				continue
			}
			a = &ahp.TerminalCwdChangedAction{Cwd: uri}
		}
		out = append(out, a)
	}
	return out
}
