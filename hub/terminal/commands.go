package terminal

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/ahphub/ahphub/hub/ahp"
)

const mostCommands = 500 // commands of a terminal that are remembered

// Command is one that a shell with integration has run.
type Command struct {
	ID       string // as in the commandId of its actions
	Line     string
	Started  time.Time
	Begin    int64          // where in the raw output its own begins; a Piece says where it is
	End      int64          // and ends; -1 while it runs
	ExitCode *int64         // nil while it runs, and when nobody knows
	Duration *time.Duration // nil while it runs
}

// Running reports whether the command is not over.
func (c Command) Running() bool { return c.End < 0 }

// command takes a command's start or end in its place of the output.
func (f *Feed) command(a ahp.Action) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch a := a.(type) {
	case *ahp.TerminalCommandExecutedAction:
		if len(f.commands) == mostCommands {
			f.commands = slices.Delete(f.commands, 0, 1)
		}
		f.commands = append(f.commands, Command{ID: a.CommandID, Line: a.CommandLine, Started: time.UnixMilli(a.Timestamp), Begin: f.end, End: -1})
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

// Commands are the newest commands, the oldest of them first: at most 500. Those whose output was
// cleared are not among them.
func (f *Feed) Commands() []Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.commands)
}

// Output is what is still kept of a command's output, raw, at most its last n bytes; cut tells
// whether there was more. ok is false when there is no such command.
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

// How PlainText spells erasing while it reads a line: characters that no output means anything by.
const (
	eraseRest = '\x01'
	eraseLine = '\x02'
)

var erasing = strings.NewReplacer("\x01", "", "\x02", "", "\x1b[K", string(eraseRest), "\x1b[0K", string(eraseRest), "\x1b[2K", string(eraseLine))

// PlainText is output as text to read or copy: without escape sequences, each line as it was written
// over last.
func PlainText(raw string) string {
	lines := strings.Split(ansi.Strip(erasing.Replace(raw)), "\n")
	for i, line := range lines {
		lines[i] = written(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// written is a line after its carriage returns, backspaces and erasing.
func written(line string) string {
	if strings.IndexFunc(line, unicode.IsControl) < 0 {
		return line
	}
	var cells []rune
	at := 0
	for _, r := range line {
		switch {
		case r == '\r':
			at = 0
		case r == '\b':
			at = max(0, at-1)
		case r == eraseRest:
			cells = cells[:min(at, len(cells))]
		case r == eraseLine:
			cells = cells[:0]
		case unicode.IsControl(r) && r != '\t':
		default:
			for len(cells) <= at {
				cells = append(cells, ' ')
			}
			cells[at] = r
			at++
		}
	}
	return strings.TrimRight(string(cells), " ")
}
