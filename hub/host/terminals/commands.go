package terminals

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// MostOutput limits the output of a command that is copied, or attached to a message.
const MostOutput = 256 << 10

// Commands returns a terminal's remembered commands, oldest first: at most 500. Changes ticks when
// one starts or ends. Those of an earlier run have no position in the output.
func (p *Part) Commands(uri ahp.URI) []machine.TerminalCommand {
	if program := p.program(uri); program != nil {
		return program.Commands()
	}
	var out []machine.TerminalCommand
	for _, part := range p.commandParts(uri) {
		c := machine.TerminalCommand{ID: part.CommandID, Line: part.CommandLine,
			Started:  time.UnixMilli(part.Timestamp),
			ExitCode: part.ExitCode}
		if part.DurationMs != nil {
			d := time.Duration(*part.DurationMs) * time.Millisecond
			c.Duration = &d
		}
		out = append(out, c)
	}
	return out
}

// CommandOutput returns the output of a terminal's command: at most the last MostOutput bytes, as
// far as the terminal has kept them. ok is false for an unknown command.
func (p *Part) CommandOutput(ctx context.Context, uri ahp.URI, id string) (out machine.CommandOutput, ok bool) {
	if program := p.program(uri); program != nil {
		out, err := program.Output(ctx, id, MostOutput)
		return out, err == nil
	}
	for _, part := range p.commandParts(uri) {
		if part.CommandID == id {
			raw := part.Output.String()
			over := max(0, len(raw)-MostOutput)
			return machine.CommandOutput{Text: machine.PlainText(raw[over:]), Cut: over > 0}, true
		}
	}
	return machine.CommandOutput{}, false
}

func (p *Part) commandParts(uri ahp.URI) (out []*ahp.TerminalCommandPart) {
	s, ok := hub.StateOf[*ahp.TerminalState](p.core.Hub, uri)
	if !ok {
		return nil
	}
	for _, part := range s.Content {
		if c, ok := part.Value.(*ahp.TerminalCommandPart); ok {
			out = append(out, c)
		}
	}
	return out
}
