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

// wayOut is what / is for whoever met the error: guests come to their session from there, strangers to signing in.
func (m *Error) wayOut() string {
	switch v := m.Frame.Viewer; {
	case v.ID == "":
		return "Go to the start"
	case v.Guest:
		return "Go to the session"
	}
	return "Go to the inbox"
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
