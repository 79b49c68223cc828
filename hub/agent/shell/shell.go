// Package shell is an agent without model or key: it runs what a person types as a command in a
// terminal of the session, after approval.
package shell

import (
	"context"
	"errors"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Provider is the name that lists the agent.
const Provider = "shell"

// Backend is the shell agent. It has no settings of its own.
type Backend struct{}

// Describe returns what the root channel shows of the agent.
func (Backend) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{
		Provider:    Provider,
		DisplayName: "Shell",
		Description: "Runs your message as a shell command after you approve it",
		Models:      []ahp.SessionModelInfo{{ID: "shell", Provider: Provider, Name: "Shell"}},
		Capabilities: &ahp.AgentCapabilities{MultipleWorkingDirectories: &ahp.MultipleWorkingDirectoriesCapability{
			ImmutablePrimary: ahp.Ptr(true), PrimaryReplacement: ahp.Ptr(true)}},
	}, nil
}

// Config has one setting: whether commands need an approval.
func (Backend) Config() ahp.SessionConfigSchema { return agent.ApprovalConfig() }

// HostRuns implements agent.HostRun.
func (Backend) HostRuns() bool { return true }

// Open begins a session; there is nothing to start.
func (Backend) Open(_ context.Context, s agent.Spec) (agent.Session, error) {
	return &session{spec: s}, nil
}

type session struct {
	spec agent.Spec
	agent.Moves
}

func (s *session) Close() error { return nil }

// Prompt runs the message as a command. Only text that a person typed is run: messages about review
// threads, or written by anything else than a person, never are, so that neither a file nor a
// comment can inject a command.
func (s *session) Prompt(ctx context.Context, t agent.Turn) error {
	switch command := strings.TrimSpace(t.Message.Text); {
	case agent.AboutThreads(t):
		return agent.Say(t.Out, "You sent "+agent.CountThreads(len(t.Threads))+
			". The shell agent only runs commands, so it ignored this and ran nothing.\n"+agent.ThreadsForPeople(s.spec.Dirs,
			t.Threads))
	case !agent.Typed(t.Message):
		return agent.Say(t.Out, "The shell agent only runs messages that a person types, so it ignored this one.")
	case command == "":
		return agent.Say(t.Out, "Type a command to run, `ls` for example.")
	default:
		return s.run(ctx, t, command)
	}
}

// run plays the command in the place where its chat's previous command ended.
func (s *session) run(ctx context.Context, t agent.Turn, command string) error {
	k, err := keeperOf(s.spec, t.Chat)
	if err != nil {
		return err
	}
	defer k.close()
	p, err := k.settle(ctx, t)
	if err != nil {
		return err
	}
	command, behind := background(command)
	move, moved := s.Movable(t.Chat)
	defer moved()
	end, err := agent.RunCommand(ctx, s.spec, t,
		agent.Command{Text: command, Dir: p.Dir, Env: p.env(), Program: k.program(p), Background: behind, Move: move})
	if !end.Goes {
		err = errors.Join(err, s.keep(t, k, p, err))
	}
	if err == nil && end.Denied {
		return agent.Say(t.Out, "The command was denied and did not run.")
	}
	return err
}

// keep stores where a command ended, even if it was stopped.
func (s *session) keep(t agent.Turn, k keeper, p place, ended error) error {
	if lost := k.learn(p); lost != nil && ended == nil {
		return agent.Say(t.Out, "Note: "+lost.Error()+".")
	}
	return nil
}

// background removes a single & at the end, which as in a shell means not to wait for the command.
func background(command string) (string, bool) {
	rest, ok := strings.CutSuffix(command, "&")
	if !ok || strings.HasSuffix(rest, "&") || strings.TrimSpace(rest) == "" {
		return command, false
	}
	return strings.TrimSpace(rest), true
}
