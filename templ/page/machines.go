package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Machines are the computers that run sessions, as the owner sees them.
type Machines struct {
	Frame part.Frame
	List  MachineList
	New   string // the command with a new token; shown once
	Error string
}

// MachineList is the part that live patches replace.
type MachineList struct {
	Machines []Machine
	Tokens   []MachineToken // unused ones
	Now      time.Time
}

// Machine is one computer.
type Machine struct {
	ID, Name         string
	Online, Draining bool
	Since            time.Time // connected since, or last connected; zero: never
	Joined           time.Time
	Version, System  string // of ahphub there; like "linux amd64"; "" before the first connection
	Cores            int
	Load             string // of an online machine; "" if unknown
	Memory           int64  // bytes
	FreeMemory       int64  // bytes, of an online machine; 0 if unknown
	Dirs             []MachineDir
	Agents           []MachineAgent
	Sandbox          string
	Update           string // this server's version if the machine's differs; "" otherwise
	Refused          string // why its last connection was refused; "" if it was not
}

// MachineDir is a directory where sessions may run.
type MachineDir struct {
	Path string
	Free string // like "120 GB"; "" if unknown
}

// MachineAgent is an agent found on a machine.
type MachineAgent struct {
	Name  string // with its version, if known
	State string // ready, login or failed; "" while it is being checked
	Note  string // how to make it ready
}

// state describes whether the agent is ready.
func (a *MachineAgent) state() string {
	switch a.State {
	case "ready":
		return "Ready"
	case "login":
		return "Needs a login"
	case "failed":
		return "Can't start"
	}
	return "Checking…"
}

func (a *MachineAgent) class() string {
	return map[string]string{"ready": "good", "login": "need", "failed": "bad"}[a.State]
}

// MachineToken is an unused token.
type MachineToken struct {
	ID               string
	Created, Expires time.Time
}

func (m *Machine) base() string { return "/machines/" + m.ID }

// state describes whether the machine is connected, and since when.
func (m *Machine) state() string {
	switch {
	case m.Online:
		return "Online since " + when(m.Since) + " UTC"
	case m.Since.IsZero():
		return "Never connected"
	}
	return "Offline since " + when(m.Since) + " UTC"
}

// hardware describes the computer.
func (m *Machine) hardware() string {
	var words []string
	if m.System != "" {
		words = append(words, m.System)
	}
	if m.Cores > 0 {
		cores := countOf(m.Cores, "core")
		if m.Load != "" {
			cores += ", load " + m.Load
		}
		words = append(words, cores)
	}
	if m.Memory > 0 {
		memory := Gigabytes(m.Memory) + " of memory"
		if m.FreeMemory > 0 {
			memory += ", " + Gigabytes(m.FreeMemory) + " free"
		}
		words = append(words, memory)
	}
	if m.Version != "" {
		words = append(words, "ahphub "+m.Version)
	}
	return strings.Join(words, " · ")
}

// Gigabytes formats a number of bytes in GB, with one decimal below 10, or in TB from 1,000 GB on.
func Gigabytes(n int64) string {
	switch g := float64(n) / (1 << 30); {
	case g >= 1000:
		return strconv.FormatFloat(g/(1<<10), 'f', 1, 64) + " TB"
	case g >= 9.95:
		return strconv.FormatFloat(g, 'f', 0, 64) + " GB"
	default:
		return strconv.FormatFloat(g, 'f', 1, 64) + " GB"
	}
}

// isolation describes the sandbox of the machine's sessions.
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
