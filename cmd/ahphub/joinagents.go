package main

import (
	"maps"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/shell"
)

// machineAgents are the agents of a machine, which come while it is connected.
type machineAgents struct {
	programs func() map[string]acp.Program // that were found so far
	backend  acp.Backend
	data     string

	mu    sync.Mutex
	known map[string]agent.Backend // replaced when there are more
}

// list returns the agents that were found so far. Each stays the same value.
func (m *machineAgents) list() map[string]agent.Backend {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.programs()
	maps.DeleteFunc(found, func(name string, _ acp.Program) bool { return m.known[name] != nil })
	if m.known == nil || len(found) > 0 {
		all := map[string]agent.Backend{shell.Provider: shell.Backend{}}
		maps.Copy(all, m.known)
		addPrograms(all, found, m.backend, m.data)
		m.known = all
	}
	return m.known
}

// places returns where the programs of the agents are, as sandboxes show them.
func (m *machineAgents) places() (paths []string) {
	for _, p := range m.programs() {
		paths = append(paths, placeOf(p)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
