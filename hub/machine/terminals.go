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

	// Start runs a program. emit receives the actions of one step at a time, in order, from one goroutine. While it blocks
	// and the terminal's buffer is full, the program blocks too. The last step has terminal/exited. Keep a reference to
	// the Terminal, not only to Done's channel, while its program should run: the program of an unreferenced Terminal
	// ends.
	Start(ctx context.Context, spec TerminalSpec, emit func([]ahp.Action)) (Terminal, error)

	// DrawText renders the output of an ended program, and returns its readable text, scrollback included.
	DrawText(printed string, cols, rows int) string
}

// Terminal is a program on a pseudo terminal, running or ended. Its methods are safe for concurrent use. Those without
// a context, except Kill, never block, so they may be called under the hub's lock.
type Terminal interface {
	// Write queues input for the program.
	Write(data []byte) error
	// Resize changes the size. The program may notice later, and only the last of several sizes.
	Resize(cols, rows int) error
	// Clear forgets the output so far, after the terminal's content in the timeline was cleared.
	Clear()
	// Kill ends the program and its descendants, and returns once the program is gone.
	Kill() error

	// Done is closed once the program is gone and its last action was emitted.
	Done() <-chan struct{}
	// ExitCode returns the exit code, or false while the program runs. A program ended by a signal has 128 plus the
	// signal's number, as in a shell.
	ExitCode() (code int, ok bool)

	// Watch adds a viewer, which begins with the current screen.
	Watch() TerminalViewer
	// Text returns the readable text of the screen.
	Text(ctx context.Context) (string, error)
	// Commands returns the newest commands that a shell with integration ran, oldest first. Commands whose output was
	// cleared are left out.
	Commands() []TerminalCommand
	// Output returns up to the last n bytes that are still kept of a command's output, as plain text.
	Output(ctx context.Context, command string, n int) (CommandOutput, error)
}

// TerminalViewer reads a terminal's output at the pace of one viewer. Next has one caller; Taken is safe for concurrent
// use.
type TerminalViewer interface {
	// Next returns the next piece, once there is one and the viewer has taken enough of those before.
	Next(ctx context.Context) (TerminalPiece, error)
	// Taken reports how many bytes the viewer has taken since it was added.
	Taken(n int64)
	// Close removes the viewer.
	Close()
}

// TerminalSpec says what to run. Only Dir is required.
type TerminalSpec struct {
	Command    []string      // program and arguments; none is a shell, with shell integration if supported
	Shell      string        // one of Shells, without a Command; "" is the user's
	Dir        string        // an existing directory; "" is the hub's own
	Session    string        // the session's name, as for Machine.Forget; "": no session
	Env        []string      // KEY=value, overriding the usual variables of the hub's environment
	Pass       []string      // names of additional variables of the hub's environment, as in environ.Allows
	Cols, Rows int           // 1 to 1000; both zero is 80 by 24
	Title      string        // the title until the program sets one
	Scrollback int           // bytes of content kept; zero is 512 KiB
	Grace      time.Duration // between SIGHUP, SIGTERM and SIGKILL; zero is 2 s
	Processes  int           // limit of concurrent processes, where they can be counted (Linux); zero is 1024

	Sandbox *sandbox.Policy // limits the program; nil: no limits
	Hide    *redact.Set     // values redacted from its output; nil: none
}

// TerminalPiece is the next piece for a viewer to show.
type TerminalPiece struct {
	Screen bool   // forget earlier output: Data draws the whole screen
	Data   []byte // shared: do not modify
	At     int64  // offset of its first byte in the raw output; of a screen, where the output continues

	Cols, Rows int // of a screen: the size it was drawn for
}

// TerminalCommand is a command that a shell with integration ran.
type TerminalCommand struct {
	ID       string // as in the commandId of its actions
	Line     string
	Started  time.Time
	Begin    int64          // offset in the raw output, as in TerminalPiece.At, where its output begins
	End      int64          // where its output ends; -1 while it runs
	ExitCode *int64         // nil while it runs, and when unknown
	Duration *time.Duration // nil while it runs
}

// IsRunning reports whether the command is still running.
func (c TerminalCommand) IsRunning() bool { return c.End < 0 }

// CommandOutput is what a command printed, as plain text.
type CommandOutput struct {
	Text string
	Cut  bool // there was more
}

// CheckTerminalSize refuses impossible sizes: programs divide by them and allocate by them.
func CheckTerminalSize(cols, rows int) error {
	if cols < 1 || cols > MaxSize || rows < 1 || rows > MaxSize {
		return fmt.Errorf("a terminal can't have %d columns and %d rows. Both must be between 1 and %d",
			cols, rows, MaxSize)
	}
	return nil
}

// CommandPlace returns the escape sequence that marks, in a viewer's output, the line of a command that begins here:
// the line before, unless a prompt was marked. It is never part of terminal/data.
func CommandPlace(command string) string { return "\x1b]" + PlaceNumber + ";" + command + "\a" }

// PlaceNumber is the number of the OSC sequence of CommandPlace.
const PlaceNumber = "6973"
