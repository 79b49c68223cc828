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
	NoRead      bool              // it reads files by itself: offering it to read through the host breaks it
}

func (p Program) title() string { return cmp.Or(p.Title, p.Name) }

// Limits of waiting; zero fields take the default.
type Limits struct {
	Start  time.Duration // until the program must have introduced itself: a minute
	Cancel time.Duration // until a cancelled turn must be over before the program is killed: 5 s
	Idle   time.Duration // without a turn, until the program is stopped: 10 minutes
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
}

// Describe tells what the root channel shows. Nothing is started for it.
func (b Backend) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{
		Provider:    b.Program.Name,
		DisplayName: b.Program.title(),
		Description: cmp.Or(b.Program.Description, "Runs "+commandLine(b.Program)),
		Models:      []ahp.SessionModelInfo{{ID: "default", Provider: b.Program.Name, Name: "Default model"}},
	}, nil
}

// Config has the one setting: whether what the agent asks for waits for approval.
func (Backend) Config() ahp.SessionConfigSchema { return agent.ApprovalConfig() }

// Open starts the program of a new session, so that one which cannot work says so
// at once. A session that was there before starts it with its next prompt.
func (b Backend) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	s, err := newSession(b, spec)
	if err != nil || s.known() {
		return s, err
	}
	p, err := s.acquire(ctx)
	if err == nil {
		err = s.prepare(ctx, p)
		s.release()
	}
	if err != nil {
		_ = s.Close() // the error is what there is to say
		return nil, err
	}
	return s, nil
}
