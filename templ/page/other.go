package page

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// Error is a page with an error and what to do next.
type Error struct {
	Frame  part.Frame
	Status int
	Text   string
	ID     string // id in the operator's log; "" if the host is not at fault
	Kept   *KeptForm
}

// KeptForm is a form that could not be saved, for sending it again.
type KeptForm struct {
	Action string
	Fields []KeptField
	Files  bool // it had files, which browsers do not keep
}

// KeptField is a field of the form.
type KeptField struct {
	Name, Value string
	Typed       bool // typed text: shown, so that it can be copied
}

// wayOut labels the link to "/", which leads to home, a guest's session, or the inbox.
func (m *Error) wayOut() string {
	switch v := m.Frame.Viewer; {
	case v.ID == "":
		return "Go home"
	case v.Guest:
		return "Go to your session"
	}
	return "Go to the inbox"
}

// Title returns the error page's title.
func (m *Error) Title() string {
	if m.Kept != nil {
		return "Not saved"
	}
	return ErrorTitle(m.Status)
}

// ErrorTitle returns the title for a status.
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

// Settings lists the host's agents and a person's preferences.
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
