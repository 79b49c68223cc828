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
	Load             string // of an online machine; "" is unknown
	Memory           int64  // bytes
	FreeMemory       int64  // bytes, of an online machine; 0 is unknown
	Dirs             []MachineDir
	Agents           []MachineAgent
	Sandbox          string
	Update           string // the version of this server, when that of the machine is another; "" else
	Refused          string // why it could not connect last; "" when it could
}

// MachineDir is a directory in which sessions may work.
type MachineDir struct {
	Path string
	Free string // as in "120 GB"; "" is unknown
}

// MachineAgent is an agent that was found on a machine.
type MachineAgent struct {
	Name  string // with its version, once it is known
	State string // ready, login or failed; "" while it is tried
	Note  string // what to do, unless it is ready
}

// state says in a word or two whether the agent can work.
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

// Gigabytes writes a number of bytes in GB: with one decimal below 10, and in TB from 1,000 on.
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
