package host

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// MostOutput bounds the output of one command that is copied, or attached to a message.
const MostOutput = 256 << 10

// TerminalCommands returns the commands of a terminal that are remembered, the oldest first: at most 500.
// WatchTerminal ticks when one starts or ends. Those of an earlier run have no place in the output.
func (h *Host) TerminalCommands(uri ahp.URI) []machine.TerminalCommand {
	if p := h.program(uri); p != nil {
		return p.Commands()
	}
	var out []machine.TerminalCommand
	for _, p := range h.commandParts(uri) {
		c := machine.TerminalCommand{ID: p.CommandID, Line: p.CommandLine, Started: time.UnixMilli(p.Timestamp), ExitCode: p.ExitCode}
		if p.DurationMs != nil {
			d := time.Duration(*p.DurationMs) * time.Millisecond
			c.Duration = &d
		}
		out = append(out, c)
	}
	return out
}

// CommandOutput returns what a command of a terminal printed: at most the last MostOutput bytes, and no more than the
// terminal still keeps. ok is false when that command is not known any more.
func (h *Host) CommandOutput(ctx context.Context, uri ahp.URI, id string) (out machine.CommandOutput, ok bool) {
	if p := h.program(uri); p != nil {
		out, err := p.Output(ctx, id, MostOutput)
		return out, err == nil
	}
	for _, p := range h.commandParts(uri) {
		if p.CommandID == id {
			raw := p.Output.String()
			over := max(0, len(raw)-MostOutput)
			return machine.CommandOutput{Text: machine.PlainText(raw[over:]), Cut: over > 0}, true
		}
	}
	return machine.CommandOutput{}, false
}

func (h *Host) commandParts(uri ahp.URI) (out []*ahp.TerminalCommandPart) {
	s, ok := hub.StateOf[*ahp.TerminalState](h.core.Hub, uri)
	if !ok {
		return nil
	}
	for _, p := range s.Content {
		if c, ok := p.Value.(*ahp.TerminalCommandPart); ok {
			out = append(out, c)
		}
	}
	return out
}
