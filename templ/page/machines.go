package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Machines are the computers on which sessions run, as their owner sees them.
type Machines struct {
	Frame part.Frame
	List  MachineList
	New   string // the command with a new token; shown once
	Error string
}

// MachineList is what changes while the page is open.
type MachineList struct {
	Machines []Machine
	Tokens   []MachineToken // that wait for a computer
	Now      time.Time
}

// Machine is one of them.
type Machine struct {
	ID, Name         string
	Online, Draining bool
	Since            time.Time // when it came, or was last connected; zero: never
	Joined           time.Time
	Version, System  string // of ahphub there, and as in "linux amd64"; "" until it has connected
	Cores            int
	Memory           int64 // bytes
	Dirs, Agents     []string
	Sandbox          string
}

// MachineToken is a token that was not used yet.
type MachineToken struct {
	ID               string
	Created, Expires time.Time
}

func (m *Machine) base() string { return "/machines/" + m.ID }

// state says whether the machine is there, and since when.
func (m *Machine) state() string {
	switch {
	case m.Online:
		return "Online since " + when(m.Since) + " UTC"
	case m.Since.IsZero():
		return "Never connected"
	}
	return "Offline since " + when(m.Since) + " UTC"
}

// hardware says what the computer is.
func (m *Machine) hardware() string {
	var words []string
	if m.System != "" {
		words = append(words, m.System)
	}
	if m.Cores > 0 {
		words = append(words, countOf(m.Cores, "core"))
	}
	if m.Memory > 0 {
		words = append(words, strconv.FormatInt((m.Memory+1<<29)>>30, 10)+" GB of memory")
	}
	if m.Version != "" {
		words = append(words, "ahphub "+m.Version)
	}
	return strings.Join(words, " · ")
}

// isolation says what keeps the sessions of the machine apart.
func (m *Machine) isolation() string {
	switch m.Sandbox {
	case "namespace":
		return "Sandboxed in namespaces"
	case "container":
		return "Sandboxed in containers"
	case "landlock":
		return "Sandboxed by Landlock alone"
	case "":
		return ""
	}
	return "Not sandboxed"
}
