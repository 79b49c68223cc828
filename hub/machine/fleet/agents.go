package fleet

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// Agents returns the agents of the hub's own computer, and those of the members under the names of JoinProvider. An
// offline member keeps its last agents. An agent is the same comparable value each time.
func (r *Route) Agents() map[string]agent.Backend {
	all := map[string]agent.Backend{}
	for _, m := range r.members.Machines() {
		for name := range m.Machine.Agents() {
			all[place.JoinProvider(m.ID, name)] = memberAgent{r, m.ID, name}
		}
	}
	for name, b := range r.ownAgents() { // they take precedence
		all[name] = b
	}
	return all
}

// ownAgents returns the agents of the hub's own computer, which never change.
func (r *Route) ownAgents() map[string]*ownAgent {
	r.once.Do(func() {
		r.agents = map[string]*ownAgent{}
		for name, b := range r.own.Agents() {
			r.agents[name] = &ownAgent{b, options{b}}
		}
	})
	return r.agents
}

// options implements the optional interfaces of a Backend. They do nothing for an agent that lacks them.
type options struct{ backend agent.Backend }

// HomePaths returns what the agent uses of its user's home directory.
func (o options) HomePaths() (write, read []string) {
	if k, ok := o.backend.(agent.HomeKeeper); ok {
		return k.HomePaths()
	}
	return nil, nil
}

// Hosts returns the hosts that the agent needs.
func (o options) Hosts() []string {
	if b, ok := o.backend.(agent.Online); ok {
		return b.Hosts()
	}
	return nil
}

// UsesTools reports whether the agent calls the hub's tools.
func (o options) UsesTools() bool {
	u, ok := o.backend.(agent.ToolUser)
	return ok && u.UsesTools()
}

// HostRuns reports whether the hub runs the agent's commands.
func (o options) HostRuns() bool {
	b, ok := o.backend.(agent.HostRun)
	return ok && b.HostRuns()
}

// Icon returns the agent's icon.
func (o options) Icon() string {
	if i, ok := o.backend.(agent.Iconed); ok {
		return i.Icon()
	}
	return ""
}

// Commands returns the agent's slash commands.
func (o options) Commands() []agent.SlashCommand {
	if c, ok := o.backend.(agent.Commander); ok {
		return c.Commands()
	}
	return nil
}

// Authenticate passes a token on to the agent.
func (o options) Authenticate(ctx context.Context, resource, token string) (known bool, err error) {
	if a, ok := o.backend.(agent.Authenticator); ok {
		return a.Authenticate(ctx, resource, token)
	}
	return false, nil
}

// Allows returns why the agent cannot work in a directory.
func (o options) Allows(dir string) error {
	if c, ok := o.backend.(agent.Confined); ok {
		return c.Allows(dir)
	}
	return nil
}

// ownAgent is an agent of the hub's own computer. It refuses directories of other computers.
type ownAgent struct {
	agent.Backend
	options
}

// Allows returns why the agent cannot work in a directory.
func (a *ownAgent) Allows(dir string) error {
	id, there, err := place.SplitPath(dir)
	switch {
	case err != nil:
		return err
	case id != "":
		return wrongMachine(dir, "the hub's own computer")
	}
	return a.options.Allows(there)
}

// Open opens a session.
func (a *ownAgent) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	for _, dir := range spec.Dirs {
		if id, _, err := place.SplitPath(dir); err != nil || id != "" {
			return nil, errors.Join(err, wrongMachine(dir, "the hub's own computer"))
		}
	}
	return a.Backend.Open(ctx, spec)
}

// wrongMachine refuses a directory that is not on the agent's computer.
func wrongMachine(dir, computer string) error {
	return ahp.Errorf(ahp.CodeInvalidParams,
		"%.200s is not on %s, where this agent runs: choose a directory there, or an agent of that machine", dir, computer)
}

// memberAgent is an agent of a member. Each call looks it up again, as the member can be renamed and revoked.
type memberAgent struct {
	r        *Route
	id, name string // name is the provider there
}

// errNoAgent reports that a computer no longer has an agent.
var errNoAgent = errors.New("this agent is not there any more")

// find returns the agent, and its computer, which may be offline.
func (a memberAgent) find() (node, agent.Backend, error) {
	n, _, err := a.r.member(a.id)
	if err != nil {
		return node{id: a.id, name: a.id}, nil, err
	}
	b := n.Agents()[a.name]
	if b == nil {
		return n, nil, n.explain(errNoAgent)
	}
	return n, b, nil
}

// options returns the agent's optional interfaces.
func (a memberAgent) options() (node, options) {
	n, b, _ := a.find() // an agent that is gone can do nothing
	return n, options{b}
}

// Describe returns the agent's entry in the root channel; the last known one while the member is offline.
func (a memberAgent) Describe(ctx context.Context) (ahp.AgentInfo, error) {
	n, b, err := a.find()
	if err != nil {
		return ahp.AgentInfo{}, err
	}
	info, err := b.Describe(ctx)
	switch {
	case err == nil:
		a.r.described.Store(a, info)
	case !errors.Is(err, machine.ErrOffline):
		return ahp.AgentInfo{}, n.explain(err)
	default:
		info = ahp.AgentInfo{DisplayName: a.name, Models: []ahp.SessionModelInfo{}}
		if last, ok := a.r.described.Load(a); ok {
			info = last.(ahp.AgentInfo)
		}
	}
	info = respell(hubward(n.id), info)
	info.Provider = place.JoinProvider(n.id, a.name)
	info.DisplayName += " on " + n.name
	info.Models = a.models(info.Models)
	info.ProtectedResources = n.joinLogins(info.ProtectedResources)
	return info, nil
}

// models renames the agent of models to its name on the hub.
func (a memberAgent) models(list []ahp.SessionModelInfo) []ahp.SessionModelInfo {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Provider == a.name {
			list[i].Provider = place.JoinProvider(a.id, a.name)
		}
	}
	return list
}

// joinLogins makes resource names unique to this computer, so that a token for it goes to no other.
func (n node) joinLogins(list []ahp.ProtectedResourceMetadata) []ahp.ProtectedResourceMetadata {
	list = slices.Clone(list)
	for i := range list {
		list[i].Resource = place.JoinProvider(n.id, list[i].Resource)
		if list[i].ResourceName != "" {
			list[i].ResourceName += " on " + n.name
		}
	}
	return list
}

// Config returns the schema of the agent's settings.
func (a memberAgent) Config() ahp.SessionConfigSchema {
	if _, b, err := a.find(); err == nil {
		return b.Config()
	}
	return agent.ApprovalConfig()
}

// HomePaths returns what the agent uses of its user's home directory there.
func (a memberAgent) HomePaths() (write, read []string) {
	_, o := a.options()
	return o.HomePaths()
}

// Hosts returns the hosts that the agent needs.
func (a memberAgent) Hosts() []string {
	_, o := a.options()
	return o.Hosts()
}

// UsesTools reports whether the agent calls the hub's tools.
func (a memberAgent) UsesTools() bool {
	_, o := a.options()
	return o.UsesTools()
}

// HostRuns reports whether the hub runs the agent's commands.
func (a memberAgent) HostRuns() bool {
	_, o := a.options()
	return o.HostRuns()
}

// Icon returns the agent's icon.
func (a memberAgent) Icon() string {
	_, o := a.options()
	return o.Icon()
}

// Commands returns the agent's slash commands.
func (a memberAgent) Commands() []agent.SlashCommand {
	_, o := a.options()
	return o.Commands()
}

// Authenticate passes a token on if it is for this member.
func (a memberAgent) Authenticate(ctx context.Context, resource, token string) (known bool, err error) {
	there, isHere := strings.CutSuffix(resource, place.JoinProvider(a.id, ""))
	if !isHere {
		return false, nil
	}
	n, o := a.options()
	known, err = o.Authenticate(ctx, there, token)
	return known, n.explain(err)
}

// Allows returns why the agent cannot work in a directory.
func (a memberAgent) Allows(dir string) error {
	n, b, err := a.find()
	if err != nil {
		return err
	}
	id, there, err := place.SplitPath(dir)
	switch {
	case err != nil:
		return err
	case id != a.id:
		return wrongMachine(dir, n.name)
	}
	return n.explain(options{b}.Allows(there), place.FileURI(there))
}

// Open opens a session in directories of the member.
func (a memberAgent) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	n, b, err := a.find()
	if err != nil {
		return nil, err
	}
	there := spec
	if there.Dirs, err = n.splitAll(spec.Dirs); err != nil {
		return nil, err
	}
	there.Worktrees = nil // the hub's own
	if spec.Sandbox != nil {
		there.Sandbox = n.sandbox(spec.Sandbox)
	}
	there.Host = a.host(spec)
	s, err := b.Open(ctx, there)
	if err != nil {
		return nil, n.explain(err, uris(there.Dirs)...)
	}
	return memberSession{Session: s, agent: a}, nil
}

// splitAll returns paths of this computer in its own spelling. It refuses paths of other computers.
func (n node) splitAll(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		id, there, err := place.SplitPath(p)
		switch {
		case err != nil:
			return nil, err
		case id != n.id:
			return nil, errTwoMachines
		}
		out = append(out, there)
	}
	return out, nil
}

func uris(paths []string) (list []ahp.URI) {
	for _, p := range paths {
		list = append(list, place.FileURI(p))
	}
	return list
}
