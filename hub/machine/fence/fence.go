// Package fence limits the hub of a machine to the directories that the machine's owner opens to sessions. It runs on
// the machine, so no hub can override it.
//
// It limits files, working directories of programs, and their sandboxes. A program without a sandbox reaches everything
// that its user does.
package fence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Config describes a fence.
type Config struct {
	Guard *guard.Guard // of the computer's files, limited to Dirs
	Dirs  []string     // absolute, without links; at least one
	Data  string       // contains the agents' own directories

	// Rules are the owner's rules for the sandboxes of sessions; nil: no sandboxes.
	Rules *sandbox.Rules
	// Read returns what sandboxes show besides the rules: the programs of agents found later. nil: nothing.
	Read func() []string
}

// Machine is a computer behind a fence. It implements machine.Machine.
type Machine struct {
	machine.Machine
	cfg Config

	mu    sync.Mutex
	shown map[string]*shown // by session
}

// New returns m behind a fence. The files of m must have the same guard.
func New(m machine.Machine, cfg Config) *Machine {
	return &Machine{Machine: m, cfg: cfg, shown: map[string]*shown{}}
}

// Agents returns the computer's agents.
func (f *Machine) Agents() map[string]agent.Backend {
	agents := map[string]agent.Backend{}
	for name, b := range f.Machine.Agents() {
		agents[name] = backend{b, f}
	}
	return agents
}

// Files returns its files. The guard checks what they open.
func (f *Machine) Files() machine.Files { return files{f.Machine.Files(), f} }

// Terminals returns its pseudo terminals.
func (f *Machine) Terminals() machine.Terminals { return terminals{f.Machine.Terminals(), f} }

// enter returns a working directory for a program, with its links resolved, and refuses one that is not open.
func (f *Machine) enter(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%.200q is not an absolute path", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = f.cfg.Guard.CheckPath(real)
	}
	if err != nil {
		return "", fmt.Errorf("%.200s cannot be used: %w", dir, err)
	}
	return real, nil
}

type terminals struct {
	machine.Terminals
	f *Machine
}

// Start runs a program in an open directory; by default, in the first of them.
func (t terminals) Start(ctx context.Context, spec machine.TerminalSpec, emit func([]ahp.Action)) (
	machine.Terminal, error) {
	if spec.Dir == "" {
		spec.Dir = t.f.cfg.Dirs[0]
	}
	var err error
	if spec.Dir, err = t.f.enter(spec.Dir); err != nil {
		return nil, err
	}
	spec.Sandbox, err = t.f.confine(spec.Sandbox, sandbox.Policy{Session: ownBox(spec.Session, spec.Dir),
		Write: []string{spec.Dir}})
	if err != nil {
		return nil, err
	}
	return t.Terminals.Start(ctx, spec, emit)
}

// ownBox names the sandbox of a terminal without a policy of the hub: one for each directory of a session.
func ownBox(session, dir string) string {
	if session == "" {
		return "in-" + nameOf(dir) // an older hub does not name the session
	}
	return "in-" + session + "-" + nameOf(dir)
}

type files struct {
	machine.Files
	f *Machine
}

// RealPaths returns paths with their links resolved; "" for those outside.
func (x files) RealPaths(ctx context.Context, paths []string) []string {
	out := x.Files.RealPaths(ctx, paths)
	for i, path := range out {
		if path != "" && x.f.cfg.Guard.CheckPath(path) != nil {
			out[i] = ""
		}
	}
	return out
}

// Places returns what exists at paths, with a reason for those that no session may use. It ignores the hub's worktrees.
func (x files) Places(ctx context.Context, paths, _ []string) []machine.Place {
	out := x.Files.Places(ctx, paths, nil)
	for i := range out {
		if err := x.f.cfg.Guard.CheckPath(paths[i]); err != nil && out[i].Exists {
			out[i] = machine.Place{Closed: guard.Reason(err)}
		}
	}
	return out
}

type backend struct {
	agent.Backend
	f *Machine
}

// Open opens a session in open directories. This computer chooses where its data is, whatever the hub says.
func (b backend) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	dirs := make([]string, len(spec.Dirs))
	for i, dir := range spec.Dirs {
		var err error
		if dirs[i], err = b.f.enter(dir); err != nil {
			return nil, err
		}
	}
	own := filepath.Join(b.f.cfg.Data, nameOf(string(spec.Session)))
	spec.Dirs, spec.Worktrees = dirs, nil
	spec.Data, spec.Sent, spec.Work = filepath.Join(own, "data"), filepath.Join(own, "sent"), filepath.Join(own, "work")
	if b.f.HasSandboxes() {
		spec.Sandbox = b.confiner(spec)
		policy, err := spec.Sandbox(ctx)
		if err != nil {
			return nil, err
		}
		boxes := b.f.cfg.Rules.Dir
		spec.Sent, spec.Work = sandbox.SentDir(boxes, policy.Session), sandbox.WorkDir(boxes, policy.Session)
	}
	for _, dir := range []string{spec.Data, spec.Sent, spec.Work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return b.Backend.Open(ctx, spec)
}

// confiner returns a function that returns the agent's sandbox policy for each start.
func (b backend) confiner(spec agent.Spec) func(context.Context) (*sandbox.Policy, error) {
	ask := spec.Sandbox
	write, read := b.HomePaths()
	otherwise := sandbox.Policy{Session: nameOf(string(spec.Session)), Write: spec.Dirs, Home: write, HomeRead: read}
	return func(ctx context.Context) (policy *sandbox.Policy, err error) {
		if ask != nil {
			if policy, err = ask(ctx); err != nil {
				return nil, err
			}
		}
		return b.f.confine(policy, otherwise)
	}
}

// HomePaths returns what the agent uses of its user's home directory.
func (b backend) HomePaths() (write, read []string) {
	if k, ok := b.Backend.(agent.HomeKeeper); ok {
		return k.HomePaths()
	}
	return nil, nil
}

// Hosts returns the hosts that the agent needs.
func (b backend) Hosts() []string {
	if o, ok := b.Backend.(agent.Online); ok {
		return o.Hosts()
	}
	return nil
}

// UsesTools reports whether the agent calls the hub's tools.
func (b backend) UsesTools() bool {
	u, ok := b.Backend.(agent.ToolUser)
	return ok && u.UsesTools()
}

// HostRuns reports whether the hub runs the agent's commands.
func (b backend) HostRuns() bool {
	r, ok := b.Backend.(agent.HostRun)
	return ok && r.HostRuns()
}

// Icon returns the agent's icon.
func (b backend) Icon() string {
	if i, ok := b.Backend.(agent.Iconed); ok {
		return i.Icon()
	}
	return ""
}

// Commands returns the agent's slash commands.
func (b backend) Commands() []agent.SlashCommand {
	if c, ok := b.Backend.(agent.Commander); ok {
		return c.Commands()
	}
	return nil
}

// Authenticate passes a token on to the agent.
func (b backend) Authenticate(ctx context.Context, resource, token string) (known bool, err error) {
	if a, ok := b.Backend.(agent.Authenticator); ok {
		return a.Authenticate(ctx, resource, token)
	}
	return false, nil
}

// Allows returns why the agent cannot work in a directory.
func (b backend) Allows(dir string) error {
	if _, err := b.f.enter(dir); err != nil {
		return err
	}
	if c, ok := b.Backend.(agent.Confined); ok {
		return c.Allows(dir)
	}
	return nil
}
