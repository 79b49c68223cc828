package page

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// Chat is the page of one conversation.
type Chat struct {
	Frame     part.Frame
	Base      string // "/s/ab12/c/cd34"
	Session   part.SessionHead
	Turns     []part.Turn
	Earlier   string // id of the first turn shown, when there are older ones
	Composer  part.Composer
	Attention part.Attention
	Chats     []ChatLink
	Forks     bool   // a chat can begin with what another said so far
	Pane      string // "changes", "threads", "terminals", "info"; "" for folded
	Info      Info
}

// ChatLink is another chat of the session.
type ChatLink struct {
	Href, Title string
	Status      part.Status
	Current     bool
}

// Info is what the right pane tells about a session.
type Info struct {
	Agent     string
	Dirs      []string
	Config    []ConfigValue
	Clients   []ahp.SessionActiveClient
	Files     []FileLine
	Reading   bool         // the files are being compared
	Threads   []ThreadLine // open ones
	Terminals []TerminalLine
}

// ConfigValue is one setting of a session.
type ConfigValue struct{ Title, Value string }

// FileLine is a changed file.
type FileLine struct {
	Href, Path string
	Add, Del   int64
	Reviewed   bool
}

// TerminalLine is a terminal in a list.
type TerminalLine struct {
	Href, Title, Holder string
	Running             bool
	Exit                *int64
}

type paneTab struct{ name, word string }

var paneTabs = []paneTab{{"changes", "Changes"}, {"threads", "Threads"}, {"terminals", "Terminals"}, {"info", "Info"}}

// paneTabs are those of the pane; who sees one chat alone has no changes of the session.
func (m Chat) paneTabs() []paneTab {
	if m.Session.Only != "" {
		return paneTabs[1:]
	}
	return paneTabs
}

func (i Info) agent() string {
	if i.Agent == "" {
		return "the agent"
	}
	return i.Agent
}

// Status of the terminal's process.
func (t TerminalLine) Status() part.Status {
	switch {
	case t.Running:
		return part.Status{Icon: "running", Word: "Running", Class: "run"}
	case t.Exit != nil && *t.Exit != 0:
		return part.Status{Icon: "error", Word: "Exited " + itoa(*t.Exit), Class: "bad"}
	}
	return part.Status{Icon: "done", Word: "Exited", Class: ""}
}
