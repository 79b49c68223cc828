// Package acp hosts programs that speak the Agent Client Protocol over their
// standard input and output: Claude Code, Gemini CLI, Codex, opencode, Goose and
// others. One process serves one session, and runs only while the session needs it.
//
// Messages are read in the order they came and a turn has one goroutine that turns
// them into chat actions, so what a person sees has the agent's order, and a host
// that cannot take more makes the agent wait.
package acp

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// version of the protocol that is spoken here.
const version = 1

// Program says how an agent is run.
type Program struct {
	Name        string            // the provider it is listed under
	Title       string            // for people; Name when empty
	Description string            // for people
	Command     string            // a path, or a name that is looked up on PATH
	Args        []string          // of the command
	Env         map[string]string // set for the agent
	Pass        []string          // variables of the host it may see besides the usual ones; PREFIX_* stands for many
	Login       string            // how one logs in, in a sentence
	Auth        string            // the way to log in that is gone by itself when a login is asked for; "" none
	NoRead      bool              // it reads files by itself: offering it to read through the host breaks it
	Icon        string            // a letter or two, or one emoji, beside its name
	Model       string            // of new sessions whose maker names none; "" is the program's own choice
	Dirs        []string          // absolute; it works in these and below; none means everywhere

	key string // that a client handed over, for the way Auth
}

func (p Program) title() string { return cmp.Or(p.Title, p.Name) }

// Limits of waiting; zero fields take the default.
type Limits struct {
	Start  time.Duration // until the program must have introduced itself: a minute
	Cancel time.Duration // until a cancelled turn must be over before the program is killed: 5 s
	Idle   time.Duration // without a turn, until the program is stopped: 10 minutes

	// What a program and all it starts may use; zero fields are without a limit (limits.go).
	Memory    int64   // bytes
	CPUs      float64 // of one: 1.5 is one and a half
	Processes int     // and threads
}

func (l Limits) withDefaults() Limits {
	l.Start = cmp.Or(l.Start, time.Minute)
	l.Cancel = cmp.Or(l.Cancel, 5*time.Second)
	l.Idle = cmp.Or(l.Idle, 10*time.Minute)
	return l
}

// Backend runs one program for each session.
type Backend struct {
	Program Program
	Limits  Limits
	Memory  *Memory // what it said of itself before; nil forgets
}

// Describe tells what the root channel shows. Nothing is started for it.
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

// capabilities are what it said when it last ran: that a session may have several directories. The first is where it runs.
func (b Backend) capabilities() *ahp.AgentCapabilities {
	if !b.Memory.get().Dirs {
		return nil
	}
	return &ahp.AgentCapabilities{MultipleWorkingDirectories: &ahp.MultipleWorkingDirectoriesCapability{ImmutablePrimary: ahp.Ptr(true)}}
}

func (b Backend) models() []ahp.SessionModelInfo {
	if known := b.Memory.get().Models; len(known) > 0 {
		return known
	}
	return models(b.Program.Name, nil, true)
}

// Config is the host's own setting, whether what the agent asks for waits for approval, and those that the agent had when
// it last ran.
func (b Backend) Config() ahp.SessionConfigSchema {
	schema := agent.ApprovalConfig()
	for key, p := range b.Memory.get().Settings {
		if _, ours := schema.Properties[key]; !ours {
			schema.Properties[key] = p
		}
	}
	return schema
}

// Commands are those of the last session.
func (b Backend) Commands() []agent.SlashCommand { return b.Memory.Commands() }

// UsesTools says that the program is given a session's MCP servers.
func (b Backend) UsesTools() bool { return true }

// Icon is its sign.
func (b Backend) Icon() string { return b.Program.Icon }

// Allows keeps it to its directories, whatever links lie in them.
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
	return fmt.Errorf("%s works in %s only: choose a directory there", b.Program.title(), strings.Join(b.Program.Dirs, ", "))
}

// Open starts the program of a new session, so that one which cannot work says so
// at once. A session that was there before starts it with its next prompt.
func (b Backend) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	s, err := newSession(b, spec)
	if err != nil || s.known() {
		return s, err
	}
	s.making.Store(true)
	p, err := s.acquire(ctx)
	if err == nil {
		err = s.prepare(ctx, p)
		s.release()
	}
	s.making.Store(false)
	if err != nil {
		_ = s.Close() // the error is what there is to say
		return nil, err
	}
	return s, nil
}
