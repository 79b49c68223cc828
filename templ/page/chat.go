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
	Forks      bool // a chat can begin with what another said so far
	PaneClosed bool // the reader closed the changed files
	Info       Info
}

// ChatLink is another chat of the session.
type ChatLink struct {
	Href, Title string
	Status      part.Status
	Current     bool
}

// Info is what a chat shows of its session beside the conversation.
type Info struct {
	Agent   string
	Machine string // "": this server, which is not said
	Away    bool   // the machine can't be reached
	Dirs    []string
	Config  []ConfigValue
	Clients []ahp.SessionActiveClient
	Files   []FileLine
	Reading bool // the files are being compared

	Contacts    []Contact  // what programs in the sandbox asked the network for
	Container   *Container // nil: programs are in none, or the visitor may not see of what it is made
	HasContacts bool       // whether there is a list of these that the visitor may see
	Notice      string     // what the session was told last of its programs
}

// Container is of what a session's container is made.
type Container struct {
	Image   string
	File    string   // of the repository; "": it says nothing
	Ignored []string // what of it is not used, and why
	Setup   []SetupStep
}

// SetupStep is a command that a repository has run when its container is made.
type SetupStep struct {
	Command, State string
	Failed         bool
	Output         string // its end
}

// Contact is a host that programs in a sandbox reached or were refused.
type Contact struct {
	Host   string
	Reason string // why it was not reached; "": it was
	Failed bool   // it is allowed
	Allow  string // what the owner adds so that it is reached; "": nothing helps
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
	HolderID            string // of the principal or the client
	Unconfined          bool   // its program is outside of the session's sandbox
}

// paneOpen reports whether the changed files are shown from the start: once there are some, unless the reader
// closed them.
func (m Chat) paneOpen() bool {
	return m.Session.Only == "" && !m.PaneClosed && (len(m.Info.Files) > 0 || m.Session.Files > 0)
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
