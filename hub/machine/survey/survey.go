// Package survey finds out what a machine says of itself to its hub: what the computer is and has free, and whether the
// agents on it can work.
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
	retryEvery = time.Hour        // an agent that cannot work, although nothing was seen to change
	probeTime  = 30 * time.Second // until an agent has made a session
)

// Config describes a survey.
type Config struct {
	Version  string   // of ahphub
	Dirs     []string // in which sessions may work
	Sandbox  string   // what keeps sessions apart
	Programs map[string]acp.Program
	Find     func() map[string]acp.Program // looks for agents again; nil: Programs are all
	Home     string                        // where agents keep their logins
	Every    time.Duration                 // between looks at these; 0 is 30 s

	// Probe starts an agent until it has made a session; default: acp.Probe.
	Probe func(context.Context, acp.Program, acp.Limits) (acp.Finding, error)
}

// Survey is what a machine knows of itself. Its methods may be called from any goroutine.
type Survey struct {
	cfg Config

	mu      sync.Mutex
	found   map[string]acp.Program
	agents  map[string]machines.Agent
	watches map[chan struct{}]bool
}

// New returns a survey; no agent was tried yet. Call Run.
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

// add takes in agents that were not known yet. It reports whether there were some.
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

// Programs returns the agents that were found so far.
func (s *Survey) Programs() map[string]acp.Program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.found)
}

// Run looks for agents, tries them one after the other, and each again when its login or its program has changed, until
// ctx ends.
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

// attempt is when an agent was tried, and what its files were.
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

// keep takes in what was found out about an agent, and wakes watches of news.
func (s *Survey) keep(a machines.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agents[a.Name] == a {
		return
	}
	s.agents[a.Name] = a
	s.tellLocked()
}

// tell wakes watches of news.
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

// Watch returns a channel that has a value when more is known about an agent, until cancel.
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

// Report returns what the computer is now.
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

// Load returns the cores and the memory of this computer, and what of them is free.
func Load() machines.Report {
	r := machines.Report{Cores: runtime.NumCPU(), Load: load("/proc/loadavg")}
	r.Memory, r.FreeMemory = memory("/proc/meminfo")
	return r
}

// load returns the average load of the last minute; 0 when it is unknown.
func load(path string) float64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0 // not Linux
	}
	first, _, _ := strings.Cut(string(b), " ")
	n, _ := strconv.ParseFloat(first, 64) // 0 if invalid
	return n
}

// memory returns the computer's memory and what of it programs can still have; 0 when it is unknown.
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
