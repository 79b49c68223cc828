// Package agents lists the agents that sessions may use, with their descriptions. Agents of
// machines come and go.
package agents

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// Machine is the part's view of the computer on which sessions' programs run. If its agents may
// change, it is a machine.Watcher.
type Machine interface {
	Agents() map[string]agent.Backend
}

// Config configures a Part.
type Config struct {
	Machine Machine
	Agents  map[string]agent.Backend // replaces the Machine's agents; nil: uses them
	Default string                   // "": the first by name

	// HomeCustomizations returns the customizations of every agent that uses MCP servers.
	HomeCustomizations func(context.Context) []ahp.Customization

	// Back is called at the start and when machines are online again; nil: not called.
	Back func(context.Context)
}

// Part is the list of agents.
type Part struct {
	core *core.Core
	cfg  Config

	mu       sync.Mutex
	backends map[string]agent.Backend
	infos    []ahp.AgentInfo  // descriptions, as shown to clients
	offline  map[string]error // why agents of offline machines can't be reached
}

// New returns a Part with the current agents.
func New(c *core.Core, cfg Config) (*Part, error) {
	p := &Part{core: c, cfg: cfg, backends: cfg.Agents}
	if p.backends == nil {
		p.backends = cfg.Machine.Agents()
	}
	if len(p.backends) == 0 {
		return nil, errors.New("host: no agent is configured: name at least one")
	}
	p.cfg.Default = cmp.Or(cfg.Default, p.Names()[0])
	if p.Get(p.cfg.Default) == nil {
		return nil, errors.New("host: the default agent " + p.cfg.Default + " is not among the agents")
	}
	return p, nil
}

// Get returns an agent, or nil. It also finds agents that are not listed yet.
func (p *Part) Get(provider string) agent.Backend {
	p.mu.Lock()
	b := p.backends[provider]
	p.mu.Unlock()
	if b == nil && p.cfg.Agents == nil {
		b = p.cfg.Machine.Agents()[provider]
	}
	return b
}

// All returns the current agents.
func (p *Part) All() map[string]agent.Backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.backends)
}

// Names returns the providers of the agents, sorted.
func (p *Part) Names() []string { return slices.Sorted(maps.Keys(p.All())) }

// Info returns an agent's description.
func (p *Part) Info(provider string) ahp.AgentInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.infos {
		if a.Provider == provider {
			return a
		}
	}
	return ahp.AgentInfo{Provider: provider, Capabilities: &ahp.AgentCapabilities{}}
}

// Name returns the provider for a client's value; "" selects the default.
func (p *Part) Name(provider string) string { return cmp.Or(provider, p.cfg.Default) }

// Find returns the agent for a new session; "" selects the default.
func (p *Part) Find(provider string) (agent.Backend, error) {
	name := p.Name(provider)
	if b := p.Get(name); b != nil {
		return b, nil
	}
	if why := p.missing(name); why != nil {
		return nil, ahp.Errorf(ahp.CodeProviderNotFound, "%s", why)
	}
	return nil, ahp.Errorf(ahp.CodeProviderNotFound, "this server has no agent %q. Choose one of %s", name,
		strings.Join(p.Names(), ", "))
}

// FindAgain returns the agent of an existing session.
func (p *Part) FindAgain(provider string) (agent.Backend, error) {
	if b := p.Get(provider); b != nil {
		return b, nil
	}
	if why := p.missing(provider); why != nil {
		return nil, why
	}
	return nil, errors.New("the agent " + provider +
		" is no longer configured. Start ahphub with it to continue here")
}

// missing returns why a machine's agent is unavailable, or nil for other agents.
func (p *Part) missing(provider string) error {
	if w, ok := p.cfg.Machine.(machine.Watcher); ok && p.cfg.Agents == nil {
		return w.Missing(provider)
	}
	return nil
}

// IsOffline reports whether an agent's machine is offline but may return. The hub's lock is held.
func (p *Part) IsOffline(provider string) bool { return p.Offline(provider) != nil }

// Offline returns an error if an agent's machine is offline but may return. The hub's lock is held.
func (p *Part) Offline(provider string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offline[provider]
}

// lookForMachines updates which agents' machines are offline, and reports whether one is online
// again.
func (p *Part) lookForMachines(w machine.Watcher) (back bool) {
	p.mu.Lock()
	names := slices.Collect(maps.Keys(p.backends))
	for _, a := range p.infos {
		names = append(names, a.Provider)
	}
	p.mu.Unlock()
	offline := map[string]error{}
	for _, name := range names {
		if w.IsOffline(name) {
			offline[name] = cmp.Or(w.Missing(name), error(machine.ErrOffline))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.offline {
		back = back || offline[name] == nil
	}
	p.offline = offline
	return back
}

// UsesServers reports whether an agent gets a session's MCP servers.
func (p *Part) UsesServers(provider string) bool { return usesServers(p.Get(provider)) }

func usesServers(b agent.Backend) bool {
	u, ok := b.(agent.ToolUser)
	return ok && u.UsesTools()
}

// Open describes the agents in the root channel's state, and creates the channel if needed (AHP
// requirement 48). Agents of machines that are not connected yet keep their descriptions.
func (p *Part) Open(ctx context.Context) error {
	infos := p.describe(ctx, p.All())
	i := slices.IndexFunc(infos, func(a ahp.AgentInfo) bool { return a.Provider == p.cfg.Default })
	first := infos[i]
	infos = slices.Insert(slices.Delete(infos, i, i+1), 0, first)
	return p.core.Do(ctx, func(tx *hub.Tx) {
		root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
		if ok {
			infos = append(infos, p.listOffline(infos, root.Agents)...)
		}
		p.setInfos(infos)
		if ok {
			tx.Apply(ahp.RootURI, &ahp.RootAgentsChangedAction{Agents: infos})
			return
		}
		err := tx.Open(core.RootInfo, &ahp.RootState{Agents: infos, ActiveSessions: ahp.Ptr(int64(0)),
			Terminals: []ahp.TerminalInfo{}})
		if err != nil {
			p.core.Log.Error("the root channel cannot be opened", "err", err)
		}
	})
}

// listOffline returns the agents in before that are not listed and whose machines are offline.
func (p *Part) listOffline(listed, before []ahp.AgentInfo) (list []ahp.AgentInfo) {
	for _, a := range before {
		is := func(b ahp.AgentInfo) bool { return a.Provider == b.Provider }
		if !slices.ContainsFunc(listed, is) && errors.Is(p.missing(a.Provider), machine.ErrOffline) {
			list = append(list, a)
		}
	}
	return list
}

func (p *Part) setInfos(infos []ahp.AgentInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.infos = infos
}

// describeTimeout is the timeout for descriptions of agents.
const describeTimeout = 10 * time.Second

// describe returns the agents' descriptions, sorted by name. An agent that fails to describe itself
// is listed by name, so that its sessions fail with its own error.
func (p *Part) describe(ctx context.Context, agents map[string]agent.Backend) []ahp.AgentInfo {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	names := slices.Sorted(maps.Keys(agents))
	infos := make([]ahp.AgentInfo, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { infos[i] = p.describeOne(ctx, name, agents[name]) })
	}
	wg.Wait()
	return infos
}

func (p *Part) describeOne(ctx context.Context, name string, b agent.Backend) ahp.AgentInfo {
	info, err := b.Describe(ctx)
	switch {
	case errors.Is(err, machine.ErrOffline) && p.Info(name).DisplayName != "":
		return p.Info(name)
	case err != nil:
		p.core.Log.Warn("an agent cannot describe itself", "agent", name, "err", err)
		info = ahp.AgentInfo{DisplayName: name, Description: "not available: " + err.Error()}
	}
	info.Provider = name
	if info.Models == nil {
		info.Models = []ahp.SessionModelInfo{}
	}
	info.Capabilities = withChats(info.Capabilities)
	if usesServers(b) {
		info.Customizations = p.cfg.HomeCustomizations(ctx)
	}
	return info
}

// withChats adds several chats, forks and side chats for agents that do not say otherwise. The host
// keeps the transcripts and sends them with each prompt.
func withChats(c *ahp.AgentCapabilities) *ahp.AgentCapabilities {
	all := ahp.AgentCapabilities{}
	if c != nil {
		all = *c
	}
	if all.MultipleChats == nil {
		all.MultipleChats = &ahp.MultipleChatsCapability{Fork: ahp.Ptr(true), SideChat: ahp.Ptr(true)}
	}
	return &all
}

// debounce is the time for which changes to the list are collected.
const debounce = 200 * time.Millisecond

// Follow updates the list as the machine's agents change, until ctx ends.
func (p *Part) Follow(ctx context.Context) {
	w, ok := p.cfg.Machine.(machine.Watcher)
	if !ok || p.cfg.Agents != nil {
		return
	}
	changed, cancel := w.Watch()
	defer cancel()
	own := p.All() // these do not change
	for first := true; ; first = false {
		back := p.lookForMachines(w) || first
		if err := p.refresh(ctx, own); err != nil && ctx.Err() == nil {
			p.core.Log.Warn("the list of agents is not up to date", "err", err)
		}
		if back = p.lookForMachines(w) || back; back && p.cfg.Back != nil { // after new agents are listed
			p.cfg.Back(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(debounce):
		case <-ctx.Done():
			return
		}
	}
}

// refresh updates the list of agents. own are the agents from the start.
func (p *Part) refresh(ctx context.Context, own map[string]agent.Backend) error {
	all := p.cfg.Machine.Agents()
	p.mu.Lock()
	p.backends = all
	infos := slices.DeleteFunc(slices.Clone(p.infos), func(a ahp.AgentInfo) bool { return own[a.Provider] == nil })
	before := p.infos
	p.mu.Unlock()
	others := maps.Clone(all)
	maps.DeleteFunc(others, func(name string, _ agent.Backend) bool { return own[name] != nil })
	infos = append(infos, p.describe(ctx, others)...)
	infos = append(infos, p.listOffline(infos, before)...)
	p.setInfos(infos)
	return p.core.Do(ctx, func(tx *hub.Tx) {
		root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
		if !ok {
			return
		}
		next := withLearned(infos, root.Agents, own)
		if !reflect.DeepEqual(next, root.Agents) {
			tx.Apply(ahp.RootURI, &ahp.RootAgentsChangedAction{Agents: next})
		}
	})
}

// withLearned returns descriptions with what sessions have learned about the agents since.
func withLearned(infos, listed []ahp.AgentInfo, own map[string]agent.Backend) []ahp.AgentInfo {
	out := slices.Clone(infos)
	for i, a := range out {
		at := slices.IndexFunc(listed, func(b ahp.AgentInfo) bool { return a.Provider == b.Provider })
		switch {
		case at < 0:
		case own[a.Provider] != nil:
			out[i] = listed[at]
		default:
			if len(a.Models) == 0 {
				out[i].Models = listed[at].Models
			}
			if len(a.ProtectedResources) == 0 {
				out[i].ProtectedResources = listed[at].ProtectedResources
			}
		}
	}
	return out
}
