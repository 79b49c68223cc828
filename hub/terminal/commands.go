package terminal

import (
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

const mostCommands = 500 // remembered commands of a terminal

// Command is a command that a shell with integration ran.
type Command = machine.TerminalCommand

// command records a command's start or end at its position in the output.
func (f *Feed) command(a ahp.Action) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch a := a.(type) {
	case *ahp.TerminalCommandExecutedAction:
		if len(f.commands) == mostCommands {
			f.commands = slices.Delete(f.commands, 0, 1)
		}
		f.commands = append(f.commands, Command{ID: a.CommandID, Line: a.CommandLine,
			Started: time.UnixMilli(a.Timestamp),
			Begin:   f.end, End: -1})
	case *ahp.TerminalCommandFinishedAction:
		if n := len(f.commands) - 1; n >= 0 && f.commands[n].ID == a.CommandID {
			c := &f.commands[n]
			c.End, c.ExitCode = f.end, a.ExitCode
			if a.DurationMs != nil {
				d := time.Duration(*a.DurationMs) * time.Millisecond
				c.Duration = &d
			}
		}
	}
}

// Commands returns up to 500 of the newest commands, the oldest first, without those whose output
// was cleared.
func (f *Feed) Commands() []Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.commands)
}

// Output returns up to the last n bytes of a command's raw output; cut is set when there was more.
// ok is false for an unknown command.
func (f *Feed) Output(id string, n int64) (raw []byte, cut, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.commands, func(c Command) bool { return c.ID == id })
	if i < 0 {
		return nil, false, false
	}
	begin, end := f.commands[i].Begin, f.commands[i].End
	if end < 0 {
		end = f.end
	}
	from := max(begin, min(end, f.start()), end-n)
	for _, b := range f.blocks {
		low, high := max(from, b.at), min(end, b.at+int64(len(b.data)))
		if low < high {
			raw = append(raw, b.data[low-b.at:high-b.at]...)
		}
	}
	return raw, from > begin, true
}
