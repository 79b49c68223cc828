// Package script is an agent that plays a scenario file or one-line orders. It takes a chat through
// every state of the protocol, for tests, demonstrations and load.
package script

import (
	"context"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// Provider is the name that lists the agent.
const Provider = "script"

// Backend is the scripted agent. Without a scenario it accepts only one-line orders; with one it
// accepts both.
type Backend struct{ Scenario *Scenario }

// Describe returns what the root channel shows of the agent.
func (Backend) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{
		Provider:    Provider,
		DisplayName: "Script",
		Description: "Test agent that follows scripted commands. No model involved",
		Models:      []ahp.SessionModelInfo{{ID: "script", Provider: Provider, Name: "Script"}},
		Capabilities: &ahp.AgentCapabilities{MultipleWorkingDirectories: &ahp.MultipleWorkingDirectoriesCapability{
			ImmutablePrimary: ahp.Ptr(true), PrimaryReplacement: ahp.Ptr(true)}},
	}, nil
}

// Config has one setting: whether commands and edits need an approval.
func (Backend) Config() ahp.SessionConfigSchema { return agent.ApprovalConfig() }

// Open begins a session at the scenario's start.
func (b Backend) Open(_ context.Context, s agent.Spec) (agent.Session, error) {
	return &session{spec: s, scenario: b.Scenario, failed: map[string]int{}}, nil
}

type session struct {
	spec     agent.Spec
	scenario *Scenario
	agent.Moves

	mu     sync.Mutex
	next   int            // the scenario's turn for a prompt without a turn of its own
	failed map[string]int // the step after the failure of a turn, for its resumption
}

func (s *session) Close() error { return nil }

// Prompt plays the steps of the message. Like all agents of the host, it obeys only what a person
// typed; review threads are answered, never executed.
func (s *session) Prompt(ctx context.Context, t agent.Turn) error {
	switch {
	case agent.AboutThreads(t):
		return s.answer(ctx, t)
	case !agent.Typed(t.Message):
		return agent.Say(t.Out, "The script agent only follows messages that a person types.")
	}
	steps, err := s.steps(t.Message.Text)
	if err != nil {
		return agent.Say(t.Out, "Sorry, "+err.Error()+".\n\n"+usage)
	}
	return s.play(ctx, t, steps)
}

// replier is a host whose agents can answer review threads.
type replier interface {
	Reply(ctx context.Context, thread, text string) error
}

// answer lists the threads it was sent, and answers each one in its place.
func (s *session) answer(ctx context.Context, t agent.Turn) error {
	if host, ok := s.spec.Host.(replier); ok {
		for _, a := range t.Threads {
			if err := host.Reply(ctx, a.ID, "I have read this. I play scripts, so nothing was changed."); err != nil {
				s.spec.Log.WarnContext(ctx, "cannot answer a review thread", "thread", a.ID, "err", err)
			}
		}
	}
	return agent.Say(t.Out, "You sent "+agent.CountThreads(len(t.Threads))+".\n"+
		agent.ThreadsForPeople(s.spec.Dirs, t.Threads))
}

// steps returns the steps of a message: a turn of the scenario by its prompt, orders, or the
// scenario's next turn.
func (s *session) steps(text string) ([]Step, error) {
	if turn := s.scenario.findByPrompt(text); turn != nil {
		return turn.Steps, nil
	}
	steps, err := Orders(text)
	if err == nil {
		return steps, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn := s.scenario.at(s.next); turn != nil {
		s.next++
		return turn.Steps, nil
	}
	return nil, err
}

// play plays a turn from its start, or after the step at which it failed.
func (s *session) play(ctx context.Context, t agent.Turn, steps []Step) error {
	from := s.stepAfterFailure(t.ID)
	p := player{spec: s.spec, turn: t, moves: &s.Moves}
	for i := min(from, len(steps)); i < len(steps); i++ {
		if err := p.step(ctx, steps[i]); err != nil {
			s.rememberFailure(t.ID, i+1)
			return err
		}
	}
	if from >= len(steps) && from > 0 {
		return agent.Say(t.Out, "Resumed: the rest went well.")
	}
	return nil
}

func (s *session) stepAfterFailure(turn string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.failed[turn]
	delete(s.failed, turn)
	return from
}

func (s *session) rememberFailure(turn string, next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failed) < 1000 {
		s.failed[turn] = next
	}
}

const usage = "I play scripts and understand one order a line:\n\n" +
	"- `say TEXT`, `think TEXT`, `notice TEXT`\n" +
	"- `count N MS`: counts to N, a number each MS milliseconds\n" +
	"- `clock N MS`: the time in nanoseconds, N times\n" +
	"- `burst N BYTES`: N pieces of text of so many bytes\n" +
	"- `run COMMAND`: in a terminal, after approval\n" +
	"- `edit PATH TEXT` adds a line to a file, `write PATH TEXT` replaces it\n" +
	"- `ask`: a question of each kind\n" +
	"- `call TOOL JSON`: a tool of a connected client\n" +
	"- `spawn TEXT`: a sub-chat that obeys TEXT\n" +
	"- `todo [x] TEXT | [>] TEXT | [ ] TEXT`: a plan, and how far it is\n" +
	"- `plan`: an answer of several parts\n" +
	"- `wait MS`, `hold` (until cancelled)\n" +
	"- `fail TEXT`: an error that can be resumed"

func fold(s string) string { return strings.ToLower(texts.OneLine(s)) }
