package page

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/templ/part"
)

// Terminals is the page of a session's terminals: their tabs, and one or two of them.
type Terminals struct {
	Frame    part.Frame
	Session  part.SessionHead
	List     []TerminalLine
	Shown    []Terminal // none, one, or two side by side
	Dirs     []string   // working directories, offered for a new terminal
	Shells   []string   // offered for a new terminal; the first is the person's own
	Commands bool       // the list of commands is open

	Sandboxed bool // terminals are in the session's sandbox, but for those that the owner opens without
}

func (m Terminals) shows(id string) bool {
	return slices.ContainsFunc(m.Shown, func(t Terminal) bool { return t.ID == id })
}

// exited counts terminals that are over.
func (m Terminals) exited() (n int) {
	for _, t := range m.List {
		if !t.Running {
			n++
		}
	}
	return n
}

// alone is the address of the page without one of the two terminals.
func (m Terminals) alone(without string) string {
	for _, t := range m.Shown {
		if t.ID != without {
			return m.Session.Base() + "/t/" + t.ID
		}
	}
	return m.Session.Base() + "/t"
}

// Who may type in a terminal, as its regions are named: it is free, held by a person, held by the agent, or ended.
const (
	HeldByNobody = "free"
	HeldByPerson = "held"
	HeldByAgent  = "agent"
	HeldNoMore   = "over"
)

// Terminal is one terminal as it is watched. What differs by viewer is Mine and Asked: both become classes of the pane,
// around what all viewers share.
type Terminal struct {
	ID, Title, Cwd, Holder string
	Held                   string // one of HeldBy…
	Status                 part.Status
	Running                bool
	Asks                   []TerminalAsk
	Commands               []TerminalCommand
	Detects                bool // its shell tells where commands begin and end
	Restarted              bool // its program is of an earlier run of the host
	Unconfined             bool // its program is outside of the session's sandbox: the owner's alone

	Mine  bool   // the viewer holds it
	Asked string // "waiting" or "denied" when the viewer asked for it
	Text  string // the screen for readers without JavaScript
	Frame string // address of the frame
}

func (t Terminal) class() string {
	class := "termpane is-" + t.Held
	if t.Mine {
		class = "termpane is-mine"
	}
	if t.Asked != "" {
		class += " asked-" + t.Asked
	}
	return class
}

// TerminalAsk is a person's request for the keyboard.
type TerminalAsk struct {
	Client, Name string
}

// TerminalCommand is a command that a shell reported.
type TerminalCommand struct {
	ID      string
	Line    string
	Running bool
	Exit    *int64
	Took    time.Duration // zero while it runs
}

// CommandID names the element of a command.
func CommandID(terminal string, c TerminalCommand) string {
	return "command-" + terminal + "-" + part.Tail(c.ID)
}

// status is the mark of a command.
func (c TerminalCommand) status() part.Status {
	switch {
	case c.Running:
		return part.Status{Icon: "running", Word: "Running", Class: "run"}
	case c.Exit == nil:
		return part.Status{Icon: "idle", Word: "Ended"}
	case *c.Exit == 0:
		return part.Status{Icon: "done", Word: "Done", Class: "good"}
	}
	return part.Status{Icon: "error", Word: "Exit " + itoa(*c.Exit), Class: "bad"}
}

// took is a duration as people read it: "40 ms", "1.4 s", "12 s", "3 m 20 s".
func (c TerminalCommand) took() string {
	switch d := c.Took; {
	case c.Running || d <= 0:
		return ""
	case d < time.Second:
		return strconv.Itoa(int(d.Milliseconds())) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " m " + strconv.Itoa(int(d.Seconds())%60) + " s"
	default:
		return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " m"
	}
}

// TerminalFrame is the document inside the frame; its own policy allows inline styles, which xterm.js needs.
type TerminalFrame struct {
	Asset      func(string) string
	Imports    []string // addresses of what its script imports
	Theme      string
	Title      string
	Stream     string // address of its WebSocket
	Text       string
	Cols, Rows int64
	Mine, Type bool
}

// phoneKeys are the keys a phone's keyboard lacks.
var phoneKeys = []phoneKey{{"esc", "Esc", ""}, {"ctrl", "Ctrl", ""}, {"alt", "Alt", ""}, {"tab", "Tab", ""},
	{"up", "↑", "Up"}, {"down", "↓", "Down"},
	{"left", "←", "Left"}, {"right", "→", "Right"}, {"int", "^C", "Interrupt"}, {"slash", "/", ""}, {"minus", "-", ""},
	{"pipe", "|", ""}, {"tilde", "~", ""}, {"paste", "Paste", ""}}

type phoneKey struct{ name, face, label string }

func (k phoneKey) attributes() templ.Attributes {
	a := templ.Attributes{}
	if k.label != "" {
		a["aria-label"] = k.label
	}
	if k.name == "ctrl" || k.name == "alt" {
		a["aria-pressed"] = "false"
	}
	return a
}

// id is the end of the terminal's address.
func (t TerminalLine) id() string { return t.Href[strings.LastIndexByte(t.Href, '/')+1:] }

// icon of a tab: a terminal while it runs, how it ended afterwards.
func (t TerminalLine) icon() string {
	if t.Running && t.Unconfined {
		return "unshielded"
	}
	if t.Running {
		return "terminal"
	}
	return t.Status().Icon
}

// toggle is the query that opens or folds the list of commands.
func (m Terminals) toggle() string {
	query := "?commands=on"
	if m.Commands {
		query = "?commands=off"
	}
	if len(m.Shown) == 2 {
		query += "&with=" + m.Shown[1].ID
	}
	return query
}

func firstDir(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}
