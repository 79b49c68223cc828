// Package survey collects what a machine reports to its hub: its hardware, its free resources, and whether its agents
// can work.
package survey

import (
	"bufio"
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/sandbox/disk"
)

const (
	retryEvery = time.Hour        // for an agent that cannot work, without a visible change
	probeTime  = 30 * time.Second // for an agent to create a session
)

// Config describes a survey.
type Config struct {
	Version  string   // of ahphub
	Dirs     []string // where sessions may work
	Sandbox  string   // how sessions are isolated
	Programs map[string]acp.Program
	Find     func() map[string]acp.Program // searches for agents again; nil: only Programs
	Home     string                        // contains the agents' logins
	Every    time.Duration                 // between checks of these; 0 is 30 s

	// Probe starts an agent and waits until it has created a session; default: acp.Probe.
	Probe func(context.Context, acp.Program, acp.Limits) (acp.Finding, error)
}

// Survey is a machine's knowledge of itself. Its methods are safe for concurrent use.
type Survey struct {
	cfg Config

	mu      sync.Mutex
	found   map[string]acp.Program
	agents  map[string]machines.Agent
	watches map[chan struct{}]bool
}

// New returns a survey that has not tried any agent yet. Call Run.
func New(cfg Config) *Survey {
	if cfg.Probe == nil {
		cfg.Probe = acp.Probe
	}
	s := &Survey{cfg: cfg, found: map[string]acp.Program{}, agents: map[string]machines.Agent{},
		watches: map[chan struct{}]bool{}}
	s.add(cfg.Programs)
	return s
}

// mostPrograms bounds the agents of a computer.
const mostPrograms = 50

// add adds agents that are new, and reports whether there were any.
func (s *Survey) add(found map[string]acp.Program) (isNews bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, known := s.found[name]; !known && len(s.found) < mostPrograms {
			s.found[name], s.agents[name] = found[name], machines.Agent{Name: name}
			isNews = true
		}
	}
	return isNews
}

// Programs returns the agents found so far.
func (s *Survey) Programs() map[string]acp.Program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.found)
}

// Run searches for agents and tries them in turn until ctx ends. It tries an agent again when its login or its program
// has changed.
func (s *Survey) Run(ctx context.Context) {
	tried := map[string]attempt{}
	for {
		if s.cfg.Find != nil && s.add(s.cfg.Find()) {
			s.tell()
		}
		all := s.Programs()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			prog := all[name]
			last, now := tried[name], attempt{s.traces(prog), time.Now()}
			if last.traces == now.traces && (s.isReady(name) || now.at.Sub(last.at) < retryEvery) {
				continue
			}
			found := s.try(ctx, name, prog)
			tried[name] = attempt{s.traces(prog), now.at} // trying may renew a login
			s.keep(found)
		}
		select {
		case <-time.After(cmp.Or(s.cfg.Every, 30*time.Second)):
		case <-ctx.Done():
			return
		}
	}
}

// attempt records when an agent was tried, and the state of its files.
type attempt struct {
	traces string
	at     time.Time
}

// traces returns a text that changes with an agent's program and its logins.
func (s *Survey) traces(p acp.Program) string {
	paths := []string{p.Command}
	if path, err := p.Path(); err == nil {
		paths[0] = path
	}
	for _, path := range p.HomeWrite {
		paths = append(paths, filepath.Join(s.cfg.Home, path))
	}
	var text strings.Builder
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			text.WriteString(info.ModTime().UTC().Format(time.RFC3339Nano) + " " + strconv.FormatInt(info.Size(), 10))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// try starts an agent.
func (s *Survey) try(ctx context.Context, name string, p acp.Program) machines.Agent {
	a := machines.Agent{Name: name}
	found, err := s.cfg.Probe(ctx, p, acp.Limits{Start: probeTime})
	a.Version = found.Version
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.State, a.Note = machines.AgentFailed, err.Error()
	case found.Login != "":
		a.State, a.Note = machines.AgentLogin, found.Login
	default:
		a.State = machines.AgentReady
	}
	return a
}

func (s *Survey) isReady(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents[name].State == machines.AgentReady
}

// keep records the result of trying an agent, and wakes watchers if it is new.
func (s *Survey) keep(a machines.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agents[a.Name] == a {
		return
	}
	s.agents[a.Name] = a
	s.tellLocked()
}

// tell wakes watchers.
func (s *Survey) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellLocked()
}

// tellLocked is tell while mu is held.
func (s *Survey) tellLocked() {
	for c := range s.watches {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Watch returns a channel that receives a value when more is known about an agent, until cancel.
func (s *Survey) Watch() (changed <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[c] = true
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, c)
	}
}

// Report returns the current state of the computer.
func (s *Survey) Report() machines.Report {
	r := Load()
	r.Version, r.OS, r.Arch, r.Sandbox = s.cfg.Version, runtime.GOOS, runtime.GOARCH, s.cfg.Sandbox
	for _, dir := range s.cfg.Dirs {
		r.Dirs = append(r.Dirs, machines.Dir{Path: dir, Free: disk.Free(dir)})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		r.Agents = append(r.Agents, s.agents[name])
	}
	return r
}

// Load returns the number of cores, the memory and the free resources of this computer.
func Load() machines.Report {
	r := machines.Report{Cores: runtime.NumCPU(), Load: load("/proc/loadavg")}
	r.Memory, r.FreeMemory = memory("/proc/meminfo")
	return r
}

// load returns the average load of the last minute, or 0 if unknown.
func load(path string) float64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0 // not Linux
	}
	first, _, _ := strings.Cut(string(b), " ")
	n, _ := strconv.ParseFloat(first, 64) // 0 if invalid
	return n
}

// memory returns the computer's total memory and the memory available to programs, or 0 if unknown.
func memory(path string) (total, free int64) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		name, rest, _ := strings.Cut(scan.Text(), ":")
		kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64) // 0 if invalid
		switch name {
		case "MemTotal":
			total = kb << 10
		case "MemAvailable":
			free = kb << 10
		}
	}
	return total, free
}
