package page

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// Chat is the page of one conversation.
type Chat struct {
	Frame      part.Frame
	Base       string // "/s/ab12/c/cd34"
	Session    part.SessionHead
	Turns      []part.Turn
	Earlier    string // id of the first turn shown, when there are older ones
	Composer   part.Composer
	Attention  part.Attention
	Chats      []ChatLink
	Forks      bool // the agent can fork chats
	PaneClosed bool // the reader closed the changed files
	Info       Info
}

// ChatLink is another chat of the session.
type ChatLink struct {
	Href, Title string
	Status      part.Status
	Current     bool
}

// Info is what a chat's page shows about the session.
type Info struct {
	Agent   string
	Machine string // "": this server, which is not shown
	Away    bool   // the machine can't be reached
	Dirs    []string
	Config  []ConfigValue
	Clients []ahp.SessionActiveClient
	Files   []FileLine
	Reading bool // the files are being compared

	Contacts    []Contact  // network requests of programs in the sandbox
	Container   *Container // nil: there is none, or the visitor may not see it
	HasContacts bool       // the visitor may see the list of contacts
	Notice      string     // the session's latest notice about its programs
}

// Container describes a session's container.
type Container struct {
	Image   string
	File    string   // of the repository; "": it configures nothing
	Ignored []string // ignored parts of it, with reasons
	Setup   []SetupStep
}

// SetupStep is a command that a repository runs when its container is created.
type SetupStep struct {
	Command, State string
	Failed         bool
	Output         string // the end of it
}

// Contact is a host that programs in a sandbox reached or were refused.
type Contact struct {
	Host   string
	Reason string // why it was refused or failed; "": it was reached
	Failed bool   // it is allowed, but did not answer
	Allow  string // what the owner adds to allow it; "": nothing helps
	Times  int
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
	HolderID            string // a principal or a client
	Unconfined          bool   // its program runs outside of the session's sandbox
}

// paneOpen reports whether the changed files are shown at first: if there are any, and the reader did not
// close them.
func (m Chat) paneOpen() bool {
	return m.Session.Only == "" && !m.PaneClosed && (len(m.Info.Files) > 0 || m.Session.Files > 0)
}

func (i Info) agent() string {
	if i.Agent == "" {
		return "the agent"
	}
	return i.Agent
}

// Status returns the status of the terminal's process.
func (t TerminalLine) Status() part.Status {
	switch {
	case t.Running:
		return part.Status{Icon: "running", Word: "Running", Class: "run"}
	case t.Exit != nil && *t.Exit != 0:
		return part.Status{Icon: "error", Word: "Exited " + itoa(*t.Exit), Class: "bad"}
	}
	return part.Status{Icon: "done", Word: "Exited", Class: ""}
}
