// Package acp hosts programs that speak the Agent Client Protocol over standard input and output:
// Claude Code, Gemini CLI, Codex, opencode, Goose and others. One process serves one session, and
// runs only while the session needs it.
//
// Messages are read in order of arrival, and one goroutine for each turn converts them to chat
// actions. People therefore see the agent's order, and a host at its limits makes the agent wait.
package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// version is the supported version of the protocol.
const version = 1

// Program describes how an agent is run.
type Program struct {
	Name        string            // the provider that lists it
	Title       string            // for people; Name when empty
	Description string            // for people
	Command     string            // a path, or a name on PATH
	Args        []string          // arguments of the command
	Env         map[string]string // set for the agent
	Pass        []string          // further variables of the host that it sees; PREFIX_* matches many
	Login       string            // how to log in, in one sentence
	LoginLine   string            // the command of a shell that logs in; "": none is known
	Auth        string            // the login method to use without a person when a login is needed; "" none
	NoRead      bool              // it reads files itself; offering reads through the host would break it
	Icon        string            // one or two letters, or one emoji, beside its name
	Model       string            // of new sessions whose owner names none; "" is the program's choice
	Dirs        []string          // absolute; it works in these and below; none means everywhere
	Hosts       []string          // services that it needs, reachable in every sandbox with a list of hosts
	HomeWrite   []string          // credentials below the home directory that it renews, also in a sandbox
	HomeRead    []string          // its settings below the home directory, which it reads in a sandbox

	key string // a client's secret, for the method Auth

	hide func(text string) string // returns a text without the session's secrets; nil: there are none
}

func (p Program) title() string { return cmp.Or(p.Title, p.Name) }

// Limits bounds time and resources; zero fields take the default.
type Limits struct {
	Start  time.Duration // until the program has introduced itself: a minute
	Cancel time.Duration // until a cancelled turn has ended, or the program is killed: 5 s
	Idle   time.Duration // without a turn, after which the program is stopped: 10 minutes
	Silent time.Duration // without an event in a turn, after which the chat says so: 20 s
	Quiet  time.Duration // without an update, after which a loaded session's replay is over: 300 ms

	// Limits of a program and its child processes; zero fields are unlimited (limits.go).
	Memory    int64   // bytes
	CPUs      float64 // of one: 1.5 is one and a half
	Processes int     // and threads
}

func (l Limits) withDefaults() Limits {
	l.Start = cmp.Or(l.Start, time.Minute)
	l.Cancel = cmp.Or(l.Cancel, 5*time.Second)
	l.Idle = cmp.Or(l.Idle, 10*time.Minute)
	l.Silent = cmp.Or(l.Silent, 20*time.Second)
	l.Quiet = cmp.Or(l.Quiet, 300*time.Millisecond)
	return l
}

// Backend runs one program for each session.
type Backend struct {
	Program Program
	Limits  Limits
	Memory  *Memory // earlier reports of the program; nil forgets them

	// Start starts the program in its sandbox, with prefix in front of its command; nil: no sandbox
	// is available
	Start func(cmd *exec.Cmd, policy *sandbox.Policy, prefix ...string) error
	Guard *guard.Guard // refuses files to the program; nil: only the kernel's file systems are closed
}

// launcher starts a command with a prefix in front.
type launcher func(cmd *exec.Cmd, prefix []string) error

// launcher returns a launcher for a session's program, with the current sandbox policy.
func (b Backend) launcher(ctx context.Context, spec agent.Spec) (launcher, error) {
	var policy *sandbox.Policy
	var err error
	if spec.Sandbox != nil {
		if policy, err = spec.Sandbox(ctx); err != nil {
			return nil, err
		}
	}
	if b.Start == nil && policy != nil {
		return nil, errors.New("its sandbox is not set up")
	}
	return func(cmd *exec.Cmd, prefix []string) error {
		if b.Start != nil {
			return b.Start(cmd, policy, prefix...)
		}
		if len(prefix) > 0 && cmd.Err == nil {
			cmd.Args, cmd.Path = slices.Concat(prefix, []string{cmd.Path}, cmd.Args[1:]), prefix[0]
		}
		return cmd.Start()
	}, nil
}

// Hosts returns the services that the program needs.
func (b Backend) Hosts() []string { return b.Program.Hosts }

// HomePaths returns what the program keeps in the user's home directory.
func (b Backend) HomePaths() (write, read []string) { return b.Program.HomeWrite, b.Program.HomeRead }

// Describe returns what the root channel shows. It starts nothing.
func (b Backend) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{
		Provider:    b.Program.Name,
		DisplayName: b.Program.title(),
		Description: cmp.Or(b.Program.Description, "Runs "+commandLine(b.Program)),
		Models:      b.models(),

		ProtectedResources: b.Memory.get().Logins,
		Capabilities:       b.capabilities(),
	}, nil
}

// capabilities reports whether a session can have several directories, as in the program's last
// run. The program runs in the first.
func (b Backend) capabilities() *ahp.AgentCapabilities {
	if !b.Memory.get().Dirs {
		return nil
	}
	return &ahp.AgentCapabilities{MultipleWorkingDirectories: &ahp.MultipleWorkingDirectoriesCapability{
		ImmutablePrimary: ahp.Ptr(true)}}
}

func (b Backend) models() []ahp.SessionModelInfo {
	if known := b.Memory.get().Models; len(known) > 0 {
		return known
	}
	return models(b.Program.Name, nil, true)
}

// Config returns the host's own setting for approvals, and the agent's settings from its last run.
func (b Backend) Config() ahp.SessionConfigSchema {
	schema := agent.ApprovalConfig()
	for key, p := range b.Memory.get().Settings {
		if _, ours := schema.Properties[key]; !ours {
			schema.Properties[key] = p
		}
	}
	return schema
}

// Commands returns the commands of the last session.
func (b Backend) Commands() []agent.SlashCommand { return b.Memory.Commands() }

// UsesTools reports that the program gets a session's MCP servers.
func (b Backend) UsesTools() bool { return true }

// NeedsLogin reports whether the program needed a login when it last worked. It starts nothing.
func (b Backend) NeedsLogin() bool { return b.Memory.get().NoLogin }

// Icon returns the program's icon.
func (b Backend) Icon() string { return b.Program.Icon }

// Allows checks that a directory is in the program's directories, with symbolic links resolved.
func (b Backend) Allows(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for _, root := range b.Program.Dirs {
		if at, err := filepath.EvalSymlinks(root); err == nil {
			if rel, err := filepath.Rel(at, real); err == nil && filepath.IsLocal(rel) {
				return nil
			}
		}
	}
	if len(b.Program.Dirs) == 0 {
		return nil
	}
	return fmt.Errorf("%s works only in %s. Choose a directory there", b.Program.title(),
		strings.Join(b.Program.Dirs, ", "))
}

// Open starts the program of a new session, so that a program that cannot work fails at once. An
// earlier session starts it with its next prompt.
func (b Backend) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	s, err := newSession(b, spec)
	if err != nil || s.isKnown() {
		return s, err
	}
	s.creatingFirstChat.Store(true)
	p, err := s.acquire(ctx)
	if err == nil {
		err = s.prepare(ctx, p)
		s.release()
	}
	s.creatingFirstChat.Store(false)
	if err != nil {
		_ = s.Close() // the error above is more useful
		return nil, err
	}
	return s, nil
}
