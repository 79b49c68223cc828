package page

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// Error is a page that says what went wrong and what to do next.
type Error struct {
	Frame  part.Frame
	Status int
	Text   string
	ID     string // number in the operator's log; "" when it is no fault of the host
}

// ErrorTitle names a status in words.
func ErrorTitle(status int) string {
	switch status {
	case 400:
		return "That cannot be done"
	case 403:
		return "Not allowed"
	case 404:
		return "Not found"
	case 409:
		return "It changed meanwhile"
	case 503:
		return "Not now"
	}
	return "Something went wrong"
}

// Settings lists what the host offers and what a person may choose.
type Settings struct {
	Frame  part.Frame
	Agents []ahp.AgentInfo
	Theme  string // "system", "light", "dark"
	Safe   bool
}

// Terminals lists the terminals of a session.
type Terminals struct {
	Frame   part.Frame
	Session part.SessionHead
	List    []TerminalLine
	Current *Terminal
}

// Terminal is one terminal as it is watched.
type Terminal struct {
	ID, Title, Cwd, Holder string
	Mine                   bool // the viewer holds it
	Status                 part.Status
	Running                bool
	Text                   string // the screen for readers without JavaScript
	Frame                  string // address of the frame
}

// TerminalFrame is the document inside the frame; its own policy allows inline styles, which xterm.js needs.
type TerminalFrame struct {
	Asset      func(string) string
	Theme      string
	Title      string
	Stream     string // address of its WebSocket
	Text       string
	Cols, Rows int64
	Mine, Type bool
}

func modelNames(list []ahp.SessionModelInfo) string {
	out := ""
	for i, m := range list {
		if i > 0 {
			out += ", "
		}
		out += m.Name
	}
	return out
}
