package page

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/templ/part"
)

// Terminals is the page of a session's terminals: their tabs, and one or two terminals.
type Terminals struct {
	Frame    part.Frame
	Session  part.SessionHead
	List     []TerminalLine
	Shown    []Terminal // none, one, or two side by side
	Dirs     []string   // working directories for a new terminal
	Shells   []string   // shells for a new terminal; the person's own is first
	Commands bool       // the list of commands is open

	Sandboxed bool // terminals run in the session's sandbox, unless the owner opens one outside
}

func (m Terminals) shows(id string) bool {
	return slices.ContainsFunc(m.Shown, func(t Terminal) bool { return t.ID == id })
}

// exited counts exited terminals.
func (m Terminals) exited() (n int) {
	for _, t := range m.List {
		if !t.Running {
			n++
		}
	}
	return n
}

// alone returns the page's address without one of the two terminals.
func (m Terminals) alone(without string) string {
	for _, t := range m.Shown {
		if t.ID != without {
			return m.Session.Base() + "/t/" + t.ID
		}
	}
	return m.Session.Base() + "/t"
}

// Who controls a terminal, as in class names: it is free, held by a person, held by the agent, or exited.
const (
	HeldByNobody = "free"
	HeldByPerson = "held"
	HeldByAgent  = "agent"
	HeldNoMore   = "over"
)

// Terminal is one terminal on its page. Only Mine and Asked differ by viewer: they become classes of the pane,
// around the shared HTML.
type Terminal struct {
	ID, Title, Cwd, Holder string
	Held                   string // one of HeldBy…
	Status                 part.Status
	Running                bool
	Asks                   []TerminalAsk
	Commands               []TerminalCommand
	Detects                bool // its shell reports where commands begin and end
	Restarted              bool // its program ran before the host restarted
	Unconfined             bool // runs outside of the session's sandbox; owner only

	Mine  bool   // the viewer controls it
	Asked string // "waiting" or "denied" if the viewer requested control
	Text  string // the screen, without JavaScript
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

// TerminalAsk is a request for control.
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

// CommandID returns the element id of a command.
func CommandID(terminal string, c TerminalCommand) string {
	return "command-" + terminal + "-" + part.Tail(c.ID)
}

// status returns the icon and word of a command's status.
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

// took formats the duration: "40 ms", "1.4 s", "12 s", "3 m 20 s".
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

// TerminalFrame is the document in the frame; its own policy allows inline styles, which xterm.js needs.
type TerminalFrame struct {
	Asset      func(string) string
	Imports    []string // addresses of its script's imports
	Theme      string
	Title      string
	Stream     string // address of its WebSocket
	Text       string
	Cols, Rows int64
	Mine, Type bool
}

// phoneKeys are keys that phone keyboards lack.
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

// id returns the end of the terminal's address.
func (t TerminalLine) id() string { return t.Href[strings.LastIndexByte(t.Href, '/')+1:] }

// icon returns the icon of a tab: a terminal while it runs, then its exit status.
func (t TerminalLine) icon() string {
	if t.Running && t.Unconfined {
		return "unshielded"
	}
	if t.Running {
		return "terminal"
	}
	return t.Status().Icon
}

// toggle returns the query that opens or closes the list of commands.
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
