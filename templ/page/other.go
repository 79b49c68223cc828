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
	Kept   *KeptForm
}

// KeptForm is a form that could not be saved, to be sent again.
type KeptForm struct {
	Action string
	Fields []KeptField
	Files  bool // it had some: browsers do not give them back
}

// KeptField is what a person typed or chose.
type KeptField struct {
	Name, Value string
	Typed       bool // shown, to be read and copied
}

// wayOut names what / leads to for the visitor: guests to their session, others to signing in.
func (m *Error) wayOut() string {
	switch v := m.Frame.Viewer; {
	case v.ID == "":
		return "Go home"
	case v.Guest:
		return "Go to your session"
	}
	return "Go to the inbox"
}

// Title names the failure in words.
func (m *Error) Title() string {
	if m.Kept != nil {
		return "Not saved"
	}
	return ErrorTitle(m.Status)
}

// ErrorTitle names a status in words.
func ErrorTitle(status int) string {
	switch status {
	case 400:
		return "Can't do that"
	case 403:
		return "Not allowed"
	case 404:
		return "Not found"
	case 409:
		return "Someone else changed this"
	case 503:
		return "Temporarily unavailable"
	}
	return "Something went wrong"
}

// Settings lists what the host offers and what a person may choose.
type Settings struct {
	Frame  part.Frame
	Agents []ahp.AgentInfo
	Nodes  bool   // this server is a node of a cluster
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
