package sandboxes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Machine is the part's view of the computer on which sessions' programs run.
type Machine interface {
	CheckSandbox(*sandbox.Policy) error
	Forget(session string) error
}

// Config configures a Part.
type Config struct {
	Rules   *sandbox.Rules                      // nil: no sandboxes
	Agent   func(provider string) agent.Backend // returns nil for unknown agents
	Machine Machine
	Home    string // the user's directory with agents' settings; "": not searched

	// Elsewhere returns the isolation of an agent's sessions on another machine, as that machine
	// reports it; ok is false for agents of this computer. nil: there are no machines.
	Elsewhere func(provider string) (mode sandbox.Mode, ok bool)

	// Contacts returns the hosts that programs in a session's sandbox reached through the proxy or
	// were denied. nil: there is no proxy.
	Contacts func(session string) []sandbox.Contact

	// Container describes a session's last container. nil: no containers.
	Container func(session string) (info sandbox.ContainerInfo, ok bool)

	// WorktreeOf returns a session's worktree and its repository; ok is false without one.
	WorktreeOf func(s *ahp.SessionState) (dir, repo string, ok bool)

	FurtherBoxes []string // suffixes of a session's name for its other sandboxes, such as the guests'
}

// Part determines the sandbox policies of sessions.
type Part struct {
	core *core.Core
	cfg  Config
}

// New returns a Part.
func New(c *core.Core, cfg Config) *Part { return &Part{core: c, cfg: cfg} }

// PolicyOf returns the sandbox policy of a session, or nil without a sandbox.
func (p *Part) PolicyOf(ctx context.Context, session ahp.URI) (*sandbox.Policy, error) {
	if session == "" || p.cfg.Rules == nil {
		return nil, nil
	}
	if err := p.core.Ensure(ctx, session); err != nil {
		return nil, core.NoSession(session)
	}
	s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok {
		return nil, core.NoSession(session)
	}
	return p.PolicyFor(session, s)
}

// PolicyForNew is PolicyOf for a session that is being created.
func (p *Part) PolicyForNew(session ahp.URI, s *ahp.SessionState) (*sandbox.Policy, error) {
	if p.cfg.Rules == nil {
		return nil, nil
	}
	return p.PolicyFor(session, s)
}

// PolicyFor is PolicyOf for a given state of the session.
func (p *Part) PolicyFor(session ahp.URI, s *ahp.SessionState) (*sandbox.Policy, error) {
	rules := p.cfg.Rules
	mode, err := rules.Resolve(core.ConfigValue(s, Key))
	if err != nil || mode == sandbox.None {
		return nil, err
	}
	policy := &sandbox.Policy{Session: core.ShortID(session), Mode: mode, Write: core.LocalPaths(s.WorkingDirectories),
		Read: rules.Read, Own: core.OwnWorktrees(session), Auto: rules.IsAuto(core.ConfigValue(s, Key))}
	if mode == sandbox.Container {
		policy.Image, policy.Images = rules.Image, rules.Images
	}
	if dir, repo, ok := p.cfg.WorktreeOf(s); ok {
		policy.Write = append(slices.Clone(policy.Write), dir)
		policy.Git = []string{filepath.Join(repo, ".git")}
	}
	if keeper, ok := p.cfg.Agent(s.Provider).(agent.HomeKeeper); ok {
		policy.Home, policy.HomeRead = keeper.HomePaths()
	}
	var hosts []string
	if online, ok := p.cfg.Agent(s.Provider).(agent.Online); ok {
		hosts = online.Hosts()
	}
	return policy, rules.Connect(policy, core.ConfigValue(s, NetworkKey), hosts)
}

// Contacts returns the hosts that programs reached or were denied on a network with a list of
// hosts. has is false if the session has no such network.
func (p *Part) Contacts(session ahp.URI, s *ahp.SessionState) (list []sandbox.Contact, has bool) {
	if p.cfg.Rules == nil || p.cfg.Contacts == nil {
		return nil, false
	}
	policy, err := p.PolicyFor(session, s)
	if err != nil || policy == nil || policy.Network != sandbox.List {
		return nil, false
	}
	return p.cfg.Contacts(policy.Session), true
}

// Container describes a session's container, or the next one as far as it is known. has is false if
// the session uses no container.
func (p *Part) Container(session ahp.URI, s *ahp.SessionState) (info sandbox.ContainerInfo, has bool) {
	if p.cfg.Rules == nil {
		return info, false
	}
	policy, err := p.PolicyFor(session, s)
	if err != nil || policy == nil || policy.Mode != sandbox.Container {
		return info, false
	}
	if p.cfg.Container != nil {
		if info, ok := p.cfg.Container(policy.Session); ok {
			return info, true
		}
	}
	return sandbox.ContainerInfo{Image: policy.Image}, true
}

// Check returns an error if a session's sandbox cannot include its directories.
func (p *Part) Check(session ahp.URI, s *ahp.SessionState) error {
	if p.cfg.Rules == nil {
		return nil
	}
	policy, err := p.PolicyFor(session, s)
	if err == nil && policy != nil {
		err = p.cfg.Machine.CheckSandbox(policy)
	}
	if err != nil {
		return core.BadParams("workingDirectories: %s", err)
	}
	return nil
}

// IsSandboxed reports whether a session's programs run in a sandbox.
func (p *Part) IsSandboxed(session ahp.URI) bool {
	e := p.core.Catalogue.Alive(session)
	if e == nil {
		return false
	}
	if mode, ok := p.elsewhere(e.Summary.Provider); ok {
		return mode != sandbox.None
	}
	if p.cfg.Rules == nil {
		return false
	}
	mode, err := p.cfg.Rules.Resolve(e.Sandbox)
	return err == nil && mode != sandbox.None
}

// elsewhere calls Config.Elsewhere if it is set.
func (p *Part) elsewhere(provider string) (mode sandbox.Mode, ok bool) {
	if p.cfg.Elsewhere == nil {
		return "", false
	}
	return p.cfg.Elsewhere(provider)
}

// IsUsual reports whether sessions have a sandbox by default.
func (p *Part) IsUsual() bool {
	if p.cfg.Rules == nil {
		return false
	}
	mode, err := p.cfg.Rules.Resolve("")
	return err == nil && mode != sandbox.None
}

// Warning returns why sessions have no sandbox, or only a partial one, although the server is set
// to use one where possible; "" otherwise.
func (p *Part) Warning() (why string, partly bool) {
	if p.cfg.Rules == nil || p.cfg.Rules.Mode == sandbox.None {
		return "", false
	}
	return p.cfg.Rules.Why, p.cfg.Rules.Works()
}

// Dirs creates the directories of a session's sandbox that its programs share with the hub: work,
// which they write, and sent, with what the session was sent. Both are "" without a sandbox.
func (p *Part) Dirs(session ahp.URI, s *ahp.SessionState) (work, sent string, err error) {
	if p.cfg.Rules == nil {
		return "", "", nil
	}
	policy, err := p.PolicyFor(session, s)
	if err != nil || policy == nil {
		return "", "", err
	}
	work, sent = sandbox.WorkDir(p.cfg.Rules.Dir, policy.Session), sandbox.SentDir(p.cfg.Rules.Dir, policy.Session)
	return work, sent, errors.Join(os.MkdirAll(work, 0o700), os.MkdirAll(sent, 0o700))
}

// Asker returns a function that returns a session's policy each time its agent starts; nil without
// sandboxes. s is the state while the session is being created.
func (p *Part) Asker(session ahp.URI, s *ahp.SessionState) func(context.Context) (*sandbox.Policy, error) {
	if p.cfg.Rules == nil {
		return nil
	}
	return func(context.Context) (*sandbox.Policy, error) {
		if now, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session); ok {
			return p.PolicyFor(session, now)
		}
		return p.PolicyFor(session, s)
	}
}

// Forget removes files that a session's programs left outside its directories.
func (p *Part) Forget(session ahp.URI) {
	var errs []error
	for _, box := range append([]string{""}, p.cfg.FurtherBoxes...) {
		errs = append(errs, p.cfg.Machine.Forget(core.ShortID(session)+box))
	}
	if err := errors.Join(errs...); err != nil {
		p.core.Log.Warn("the private files of a session's sandbox are left behind", "session", session, "err", err)
	}
}
