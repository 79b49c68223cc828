package main

import (
	"maps"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/shell"
)

// machineAgents holds the agents of a machine, which may be found while it is connected.
type machineAgents struct {
	programs func() map[string]acp.Program // found so far
	backend  acp.Backend
	data     string

	mu    sync.Mutex
	known map[string]agent.Backend // replaced when more are found
}

// list returns the agents found so far. Each keeps its value.
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

// places returns the paths of the agents' programs that sandboxes must show.
func (m *machineAgents) places() (paths []string) {
	for _, p := range m.programs() {
		paths = append(paths, placeOf(p)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
