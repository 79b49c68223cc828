package local

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/terminal"
)

type terminals struct{ programs Programs }

func (terminals) Shells() []string { return terminal.Shells() }

func (t terminals) Start(ctx context.Context, spec machine.TerminalSpec, emit func([]ahp.Action)) (
	machine.Terminal, error,
) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	launch := terminal.Launcher{Open: t.programs.openTerminal(spec.Sandbox),
		Start: func(cmd *exec.Cmd) error { return t.programs.Start(cmd, spec.Sandbox) }}
	p, err := terminal.Start(spec, launch, emit)
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

func (terminals) DrawText(printed string, cols, rows int) string {
	return terminal.Plain(printed, cols, rows)
}

// process implements machine.Terminal.
type process struct{ *terminal.Process }

func (p process) Watch() machine.TerminalViewer { return p.Feed().Watch() }

func (p process) Text(context.Context) (string, error) { return p.Feed().Text(), nil }

func (p process) Commands() []machine.TerminalCommand { return p.Feed().Commands() }

func (p process) Output(_ context.Context, command string, n int) (machine.CommandOutput, error) {
	raw, cut, ok := p.Feed().Output(command, int64(n))
	if !ok {
		return machine.CommandOutput{}, fmt.Errorf("this terminal has no command %.80q", command)
	}
	return machine.CommandOutput{Text: machine.PlainText(string(raw)), Cut: cut}, nil
}
