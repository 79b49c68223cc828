package machines

import (
	"math"
	"slices"

	"github.com/ahphub/ahphub/hub/texts"
)

// Report is a machine's description of itself, when it connects and later. It is untrusted: Clean bounds it.
type Report struct {
	Version    string  `json:"version"` // of ahphub there
	OS         string  `json:"os"`
	Arch       string  `json:"arch"`
	Cores      int     `json:"cores"`
	Load       float64 `json:"load"`       // average of running and runnable processes over the last minute
	Memory     int64   `json:"memory"`     // bytes
	FreeMemory int64   `json:"freeMemory"` // bytes available to programs
	Dirs       []Dir   `json:"dirs,omitempty"`
	Agents     []Agent `json:"agents,omitempty"`
	Sandbox    string  `json:"sandbox,omitempty"` // how its sessions are isolated: namespace, container, landlock or none
}

// Dir is a directory in which sessions may work.
type Dir struct {
	Path string `json:"path"`
	Free int64  `json:"free"` // bytes; 0 when unknown
}

// Agent is a program for sessions on a machine.
type Agent struct {
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"` // includes the program's own name, once known
	State   AgentState `json:"state,omitempty"`
	Note    string     `json:"note,omitempty"` // what to do about an agent that is not ready
}

// AgentState says whether an agent can work.
type AgentState string

// States of agents. The zero value is unknown.
const (
	AgentReady  AgentState = "ready"
	AgentLogin  AgentState = "login" // it needs a login first
	AgentFailed AgentState = "failed"
)

// FreeCores returns how many cores are idle.
func (r Report) FreeCores() float64 { return max(float64(r.Cores)-r.Load, 0) }

const (
	longestWord = 200     // bytes of a text in a report
	longestNote = 500     // bytes of a Note
	mostListed  = 50      // directories, or agents
	mostCores   = 1 << 16 // and load
	mostBytes   = 1 << 50 // of memory, or of a disk
)

// Clean makes a report safe to display: its texts have one line and bounded length, and its numbers are possible.
func (r Report) Clean() Report {
	for _, s := range []*string{&r.Version, &r.OS, &r.Arch, &r.Sandbox} {
		*s = cleanWord(*s)
	}
	r.Dirs = slices.Clone(r.Dirs[:min(len(r.Dirs), mostListed)])
	for i, d := range r.Dirs {
		r.Dirs[i] = Dir{cleanWord(d.Path), bound(d.Free, mostBytes)}
	}
	r.Agents = slices.Clone(r.Agents[:min(len(r.Agents), mostListed)])
	for i, a := range r.Agents {
		switch a.State {
		case "", AgentReady, AgentLogin, AgentFailed:
		default:
			a.State = "" // from a newer release
		}
		r.Agents[i] = Agent{Name: cleanWord(a.Name), Version: cleanWord(a.Version), State: a.State,
			Note: texts.CutBytes(texts.OneLine(a.Note), longestNote)}
	}
	r.Cores, r.Memory = bound(r.Cores, mostCores), bound(r.Memory, mostBytes)
	r.FreeMemory = bound(r.FreeMemory, r.Memory)
	if r.Load = bound(r.Load, mostCores); math.IsNaN(r.Load) {
		r.Load = 0
	}
	return r
}

func cleanWord(s string) string { return texts.CutBytes(texts.OneLine(s), longestWord) }

func bound[N int | int64 | float64](n, most N) N { return min(max(n, 0), most) }
