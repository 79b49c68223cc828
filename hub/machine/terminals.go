package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/redact"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Size of a terminal, in columns and rows.
const (
	DefaultCols = 80
	DefaultRows = 24
	MaxSize     = 1000
)

// Terminals runs programs on pseudo terminals.
type Terminals interface {
	// Shells returns the names of the shells that a TerminalSpec may ask for, the user's own first.
	Shells() []string

	// Start runs a program. emit receives the actions of one step at a time, in order, from one goroutine; while it
	// blocks, so does the program once the terminal's buffer is full. The last step holds terminal/exited. Hold the Terminal
	// while its program is to run, not Done's channel alone: one that nobody holds is forgotten, and its program ends.
	Start(ctx context.Context, spec TerminalSpec, emit func([]ahp.Action)) (Terminal, error)

	// DrawText draws what a program that is gone has printed, and returns what can be read, scrollback included.
	DrawText(printed string, cols, rows int) string
}

// Terminal is a program on a pseudo terminal, running or gone. Its methods may be called from any goroutine; those
// without a context but Kill never wait, so that they may be called under the hub's lock.
type Terminal interface {
	// Write queues input for the program.
	Write(data []byte) error
	// Resize changes the size; the program may learn of it a little later, and of the last of several sizes only.
	Resize(cols, rows int) error
	// Clear forgets the output so far, after the terminal's content in the timeline was cleared.
	Clear()
	// Kill ends the program and what it started, and returns once the program is gone.
	Kill() error

	// Done is closed once the program is gone and its last action was emitted.
	Done() <-chan struct{}
	// ExitCode returns the exit code, or false while the program runs. A program that a signal ended has 128 and the
	// signal's number, as in a shell.
	ExitCode() (code int, ok bool)

	// Watch adds a viewer, which begins with the screen as it is.
	Watch() TerminalViewer
	// Text returns what can be read on the screen.
	Text(ctx context.Context) (string, error)
	// Commands returns the newest commands that a shell with integration has run, the oldest of them first. Commands
	// whose output was cleared are left out.
	Commands() []TerminalCommand
	// Output returns at most the last n bytes that are still kept of a command's output, as plain text.
	Output(ctx context.Context, command string, n int) (CommandOutput, error)
}

// TerminalViewer reads what a terminal prints at the pace of one viewer. Next has one caller; Taken may be called from
// anywhere.
type TerminalViewer interface {
	// Next returns the next piece, once there is one and the viewer has taken enough of those before.
	Next(ctx context.Context) (TerminalPiece, error)
	// Taken reports how many bytes the viewer has taken since it was added.
	Taken(n int64)
	// Close removes the viewer.
	Close()
}

// TerminalSpec names what to run. Only Dir needs a value.
type TerminalSpec struct {
	Command    []string      // program and arguments; none is a shell, with shell integration where the shell has it
	Shell      string        // one of Shells, when there is no Command; "" is the user's
	Dir        string        // an existing directory; "" is the hub's own
	Session    string        // names what belongs to the session, as Machine.Forget takes it; "": no session
	Env        []string      // KEY=value, over the usual variables of the hub's environment
	Pass       []string      // names of more variables of the hub's environment, as environ.Allows takes them
	Cols, Rows int           // 1 to 1000; both zero is 80 by 24
	Title      string        // the title until the program sets one
	Scrollback int           // bytes of content kept; zero is 512 KiB
	Grace      time.Duration // between SIGHUP, SIGTERM and SIGKILL; zero is 2 s
	Processes  int           // that may run in it at once, where they can be counted (Linux); zero is 1024

	Sandbox *sandbox.Policy // what it is kept from; nil: nothing
	Hide    *redact.Set     // what is not shown of its output; nil: nothing
}

// TerminalPiece is what a viewer shows next.
type TerminalPiece struct {
	Screen bool   // forget everything before: Data draws the whole screen
	Data   []byte // shared: not to be changed
	At     int64  // offset of the first byte in the raw output; of a screen, where the output goes on

	Cols, Rows int // of a screen: the size it was drawn for
}

// TerminalCommand is a command that a shell with integration has run.
type TerminalCommand struct {
	ID       string // as in the commandId of its actions
	Line     string
	Started  time.Time
	Begin    int64          // offset in the raw output where its own begins; TerminalPiece.At counts alike
	End      int64          // and ends; -1 while it runs
	ExitCode *int64         // nil while it runs, and when it is not known
	Duration *time.Duration // nil while it runs
}

// IsRunning reports whether the command is not over.
func (c TerminalCommand) IsRunning() bool { return c.End < 0 }

// CommandOutput is what a command printed, as plain text.
type CommandOutput struct {
	Text string
	Cut  bool // there was more
}

// CheckTerminalSize refuses sizes that no terminal has: programs divide by them and allocate by them.
func CheckTerminalSize(cols, rows int) error {
	if cols < 1 || cols > MaxSize || rows < 1 || rows > MaxSize {
		return fmt.Errorf("a terminal can't have %d columns and %d rows. Both must be between 1 and %d",
			cols, rows, MaxSize)
	}
	return nil
}

// CommandPlace returns the escape sequence that marks, in what a viewer shows, the line of a command that begins here:
// the line before, unless a prompt was marked. It is never part of terminal/data.
func CommandPlace(command string) string { return "\x1b]" + PlaceNumber + ";" + command + "\a" }

// PlaceNumber is the number of the OSC sequence of CommandPlace.
const PlaceNumber = "6973"
