package host

import (
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/terminal"
)

// MostOutput bounds the output of one command that is copied, or attached to a message.
const MostOutput = 256 << 10

// TerminalCommand is a command that a shell has run in a terminal.
type TerminalCommand = terminal.Command

// TerminalCommands are the commands of a terminal that are remembered, the oldest first: at most 500.
// WatchTerminal ticks when one starts or ends. Those of an earlier run have no place in the output.
func (h *Host) TerminalCommands(uri ahp.URI) []TerminalCommand {
	if f := h.feed(uri); f != nil {
		return f.Commands()
	}
	var out []TerminalCommand
	for _, p := range h.commandParts(uri) {
		c := TerminalCommand{ID: p.CommandID, Line: p.CommandLine, Started: time.UnixMilli(p.Timestamp), ExitCode: p.ExitCode}
		if p.DurationMs != nil {
			d := time.Duration(*p.DurationMs) * time.Millisecond
			c.Duration = &d
		}
		out = append(out, c)
	}
	return out
}

// CommandOutput is what a command of a terminal printed, as plain text: at most the last MostOutput
// bytes, and no more than the terminal still keeps; cut tells whether there was more. ok is false when
// that command is not known any more.
func (h *Host) CommandOutput(uri ahp.URI, id string) (text string, cut, ok bool) {
	if f := h.feed(uri); f != nil {
		raw, cut, ok := f.Output(id, MostOutput)
		return terminal.PlainText(string(raw)), cut, ok
	}
	for _, p := range h.commandParts(uri) {
		if p.CommandID == id {
			raw := p.Output.String()
			over := max(0, len(raw)-MostOutput)
			return terminal.PlainText(raw[over:]), over > 0, true
		}
	}
	return "", false, false
}

// CommandPlace stands in the output that a frame is sent where a command's own begins.
func CommandPlace(id string) string { return terminal.Place(id) }

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
