package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// backend implements agent.Backend and its optional interfaces.
type backend struct {
	m     *Machine
	name  string
	facts agentFacts
}

func (b *backend) Describe(ctx context.Context) (ahp.AgentInfo, error) {
	out, err := call[pipe.JSON[ahp.AgentInfo]](ctx, b.m, "agents.describe", agentCall{Provider: b.name})
	return out.V, err
}

func (b *backend) Config() ahp.SessionConfigSchema {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := call[pipe.JSON[ahp.SessionConfigSchema]](ctx, b.m, "agents.config", agentCall{Provider: b.name})
	if err != nil {
		return agent.ApprovalConfig()
	}
	return out.V
}

func (b *backend) HomePaths() (write, read []string) { return b.facts.HomeWrite, b.facts.HomeRead }
func (b *backend) Hosts() []string                   { return b.facts.Hosts }
func (b *backend) UsesTools() bool                   { return b.facts.UsesTools }
func (b *backend) HostRuns() bool                    { return b.facts.HostRuns }
func (b *backend) Icon() string                      { return b.facts.Icon }

func (b *backend) Commands() []agent.SlashCommand {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, _ := call[[]agent.SlashCommand](ctx, b.m, "agents.commands", agentCall{Provider: b.name}) // offline: none
	return out
}

func (b *backend) Authenticate(ctx context.Context, resource, token string) (known bool, err error) {
	if !b.facts.Authenticates {
		return false, nil
	}
	return call[bool](ctx, b.m, "agents.authenticate", agentCall{Provider: b.name, Resource: resource, Token: token})
}

func (b *backend) Allows(dir string) error {
	if !b.facts.Confined {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return callNone(ctx, b.m, "agents.allows", agentCall{Provider: b.name, Dir: dir})
}

// Open opens a session, which continues while the computer is offline.
func (b *backend) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	if _, err := b.m.online(); err != nil {
		return nil, err
	}
	conduit, err := b.m.conduits.Open(kindAgent)
	if err != nil {
		return nil, err
	}
	s := &session{b: b, spec: spec, ctx: ctx, talk: pipe.NewTalk(conduit, b.m.cfg.Log), turns: map[uint64]*turn{},
		terminals: map[uint64]agent.Terminal{}, done: make(chan struct{})}
	servers := b.m.tools.add(ctx, conduit.ID(), spec.MCP)
	go s.run()
	_, keeps := spec.Host.(agent.Keeper)
	_, replies := spec.Host.(replier)
	s.facts, err = pipe.Ask[sessionFacts](ctx, s.talk, "open", agentSpec{Provider: b.name, Session: spec.Session,
		Dirs: spec.Dirs, Data: spec.Data, Sent: spec.Sent, Work: spec.Work, MCP: servers, Worktrees: spec.Worktrees,
		HasSandbox: spec.Sandbox != nil, HasSecrets: spec.Secrets != nil, HasHide: spec.Hide != nil,
		HasProgress: spec.Progress != nil, HasKeep: keeps, HasReply: replies})
	if err != nil {
		s.talk.Close(nil)
		<-s.done
		return nil, err
	}
	s.stop = context.AfterFunc(ctx, func() {
		_ = s.talk.TellNow("end", endCall{pipe.EncodeError(context.Cause(ctx))}) // Close also ends it
	})
	return s, nil
}

// replier is a host whose agents can answer review threads.
type replier interface {
	Reply(ctx context.Context, thread, text string) error
}

// session implements agent.Session and its optional interfaces.
type session struct {
	b     *backend
	spec  agent.Spec
	ctx   context.Context // ends with the session
	talk  *pipe.Talk
	facts sessionFacts
	stop  func() bool
	done  chan struct{}
	next  atomic.Uint64

	mu        sync.Mutex
	turns     map[uint64]*turn
	terminals map[uint64]agent.Terminal
	waited    []uint64 // terminals that exited, oldest first
}

// turn is a running turn, started by a prompt or spawned by the agent.
type turn struct {
	ctx   context.Context
	turn  agent.Turn
	end   func(error) // of a spawned turn
	bytes int
	over  context.CancelCauseFunc
}

// Prompt plays a turn, and returns once the computer reports its end. If ctx ends while the computer is offline, it
// returns at once: the computer ends the turn before the next turn of its chat begins.
func (s *session) Prompt(ctx context.Context, t agent.Turn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	key := s.add(&turn{ctx: ctx, turn: t, over: cancel})
	defer s.remove(key)
	before, live := s.talk.Attachments()
	err := pipe.AskNone(ctx, s.talk, "prompt", turnOf(key, t))
	if after, _ := s.talk.Attachments(); errors.Is(err, pipe.ErrLost) && !live && after == before {
		return fmt.Errorf("%w: %w", agent.ErrGone, err) // no connection has carried the turn
	}
	if much, ok := errors.AsType[tooMuchError](context.Cause(ctx)); ok {
		return &agent.Failure{Message: much.Error()}
	}
	return err
}

func (s *session) add(t *turn) uint64 {
	key := s.next.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns[key] = t
	return key
}

func (s *session) remove(key uint64) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turns[key]
	delete(s.turns, key)
	return t
}

var errTurnOver = errors.New("this turn has ended")

func (s *session) get(key uint64) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turns[key]; t != nil {
		return t, nil
	}
	return nil, errTurnOver
}

// parent returns the context of the turn for which a call is made, or the session's if the turn has ended.
func (s *session) parent(chat ahp.URI, id string) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.turn.Chat == chat && t.turn.ID == id {
			return t.ctx
		}
	}
	return s.ctx
}

// Close closes the session on the computer, and waits for that while the computer is connected.
func (s *session) Close() error {
	s.stop()
	_, err := pipe.AskAttached[struct{}](context.Background(), s.talk, "close", struct{}{})
	s.talk.Close(nil)
	<-s.done
	if errors.Is(err, machine.ErrOffline) {
		return nil // it closes when the computer reconnects, or gives up on the hub
	}
	return err
}

func (s *session) Move(chat ahp.URI) bool {
	if !s.facts.Moves {
		return false
	}
	moved, err := pipe.AskAttached[bool](s.ctx, s.talk, "move", chat)
	return err == nil && moved
}

func (s *session) Set(ctx context.Context, key string, value json.RawMessage) error {
	if !s.facts.Sets {
		return nil
	}
	return pipe.AskNone(ctx, s.talk, "set", setCall{key, value})
}

func (s *session) Steers(chat ahp.URI) bool {
	if !s.facts.Steers {
		return false
	}
	can, err := pipe.AskAttached[bool](s.ctx, s.talk, "steers", chat)
	return err == nil && can
}

func (s *session) Steer(ctx context.Context, chat ahp.URI, m ahp.Message) error {
	return pipe.AskNone(ctx, s.talk, "steer", steerCall{chat, pipe.JSON[ahp.Message]{V: m}})
}

func (s *session) Commands() []agent.SlashCommand {
	if !s.facts.Commands {
		return s.b.Commands()
	}
	out, _ := pipe.AskAttached[[]agent.SlashCommand](s.ctx, s.talk, "commands", struct{}{}) // it has ended
	return out
}

// run answers the session's calls until it ends.
func (s *session) run() {
	defer close(s.done)
	defer s.b.m.tools.remove(s.talk.ID())
	handlers := s.turnHandlers()
	for method, h := range s.hostHandlers() {
		handlers[method] = h
	}
	err := s.talk.Run(context.WithoutCancel(s.ctx), handlers)
	s.mu.Lock()
	turns := s.turns
	s.turns = map[uint64]*turn{}
	s.mu.Unlock()
	for _, t := range turns {
		t.over(err)
		if t.end != nil {
			t.end(err)
		}
	}
}

// mostTurn bounds the bytes that a machine may send in one turn.
const mostTurn = 64 << 20

// tooMuchError ends a turn in which a machine exceeded the limit.
type tooMuchError struct{ limit int }

func (e tooMuchError) Error() string {
	return fmt.Sprintf("Interrupted: the agent said more than %d MB in one turn", e.limit>>20)
}

// emit applies an action of a turn.
func (s *session) emit(q emitCall) error {
	t, err := s.get(q.Key)
	if err != nil {
		return err
	}
	limit := cmp.Or(s.b.m.cfg.Turn, mostTurn)
	if t.bytes += q.Action.Size; t.bytes > limit { // one action at a time
		t.over(tooMuchError{limit})
		return tooMuchError{limit}
	}
	return t.turn.Out.Emit(q.Action.V)
}

// turnHandlers answer the calls of turns.
func (s *session) turnHandlers() map[string]pipe.TalkHandler {
	return map[string]pipe.TalkHandler{
		"emit": pipe.InOrder(func(_ context.Context, q emitCall) (struct{}, error) { return struct{}{}, s.emit(q) }),
		"say": pipe.Take(func(ctx context.Context, q emitCall) error {
			if err := s.emit(q); err != nil {
				return s.talk.Tell(ctx, "fault", faultCall{q.Key, pipe.EncodeError(err)})
			}
			return nil
		}),
		"confirm": pipe.Do(func(ctx context.Context, q emitCall) (out confirmed, err error) {
			t, err := s.get(q.Key)
			if err != nil {
				return out, err
			}
			ready, ok := q.Action.V.(*ahp.ChatToolCallReadyAction)
			if !ok {
				return out, errors.New("only a tool call that is ready can be confirmed")
			}
			answer, err := t.turn.Out.Confirm(ctx, ready)
			if err != nil || answer == nil {
				return out, err
			}
			return confirmed{&pipe.JSON[ahp.ChatToolCallConfirmedAction]{V: *answer}}, nil
		}),
		"ask": pipe.Do(func(ctx context.Context, q askCall) (out pipe.JSON[ahp.ChatInputCompletedAction], err error) {
			t, err := s.get(q.Key)
			if err != nil {
				return out, err
			}
			answer, err := t.turn.Out.Ask(ctx, q.Request.V)
			if err == nil && answer != nil {
				out.V = *answer
			}
			return out, err
		}),
		"tool": pipe.Do(func(ctx context.Context, q toolCall) (out pipe.JSON[ahp.ToolCallResult], err error) {
			t, err := s.get(q.Key)
			if err != nil {
				return out, err
			}
			out.V, err = t.turn.Out.ClientTool(ctx, q.Client, q.Tool, q.Input)
			return out, err
		}),
		"spawn": pipe.Do(s.spawn),
		"spawned": pipe.InOrder(func(_ context.Context, q spawnEnd) (struct{}, error) {
			if t := s.remove(q.Key); t != nil && t.end != nil {
				t.end(q.Err.Decode())
				t.over(nil)
			}
			return struct{}{}, nil
		}),
	}
}

func (s *session) spawn(_ context.Context, spec agent.SpawnSpec) (turnMessage, error) {
	ctx, cancel := context.WithCancelCause(s.parent(spec.Chat, spec.TurnID))
	t, end, err := s.spec.Host.Spawn(ctx, spec)
	if err != nil {
		cancel(nil)
		return turnMessage{}, err
	}
	return turnOf(s.add(&turn{ctx: ctx, turn: t, end: end, over: cancel}), t), nil
}

// hostHandlers answer the session's calls outside of turns.
func (s *session) hostHandlers() map[string]pipe.TalkHandler {
	return map[string]pipe.TalkHandler{
		"config": pipe.Do(func(_ context.Context, key string) (string, error) {
			if s.spec.Config == nil {
				return "", nil
			}
			return s.spec.Config(key), nil
		}),
		"sandbox": pipe.Do(func(ctx context.Context, _ struct{}) (*sandbox.Policy,
			error) {
			return s.spec.Sandbox(ctx)
		}),
		"secrets": pipe.Do(func(ctx context.Context, _ struct{}) ([]string, error) { return s.spec.Secrets(ctx) }),
		"hide":    pipe.Do(func(_ context.Context, text string) (string, error) { return s.spec.Hide(text), nil }),
		"progress": pipe.Take(func(_ context.Context, step string) error {
			s.spec.Tell(step)
			return nil
		}),
		"terminal": pipe.Do(s.startTerminal),
		"wait": pipe.Do(func(ctx context.Context, id uint64) (out waited, err error) {
			t, err := s.terminal(id)
			if err != nil {
				return out, err
			}
			if out.ExitCode, out.Tail, err = t.Wait(ctx); err == nil {
				s.forgetLater(id)
			}
			return out, err
		}),
		"kill": pipe.Do(func(_ context.Context, id uint64) (struct{}, error) {
			t, err := s.terminal(id)
			if err == nil {
				t.Kill()
			}
			return struct{}{}, err
		}),
		"background": pipe.Do(func(ctx context.Context, q backgroundCall) (out struct{}, err error) {
			t, err := s.terminal(q.Terminal)
			if err != nil {
				return out, err
			}
			return out, s.spec.Host.Background(ctx, agent.BackgroundSpec{Chat: q.Chat, Label: q.Label,
				Command: q.Command, Terminal: t})
		}),
		"learn": pipe.InOrder(func(_ context.Context, o pipe.JSON[agent.Offer]) (struct{}, error) {
			s.spec.Host.Learn(o.V)
			return struct{}{}, nil
		}),
		"keep": pipe.Do(func(_ context.Context, q keepCall) (out pipe.JSON[ahp.ContentRef], err error) {
			keeper, ok := s.spec.Host.(agent.Keeper)
			if !ok {
				return out, errors.New("this hub keeps no content")
			}
			out.V, err = keeper.Keep(q.Path, q.Content)
			return out, err
		}),
		"reply": pipe.Do(func(ctx context.Context, q replyCall) (out struct{}, err error) {
			host, ok := s.spec.Host.(replier)
			if !ok {
				return out, errors.New("this hub takes no replies")
			}
			return out, host.Reply(ctx, q.Thread, q.Text)
		}),
	}
}

func (s *session) startTerminal(ctx context.Context, spec agent.TerminalSpec) (startedTerminal, error) {
	t, err := s.spec.Host.Terminal(ctx, spec)
	if err != nil {
		return startedTerminal{}, err
	}
	id := s.next.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminals[id] = t
	return startedTerminal{id, t.URI()}, nil
}

func (s *session) terminal(id uint64) (agent.Terminal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.terminals[id]; t != nil {
		return t, nil
	}
	return nil, errors.New("this terminal is gone")
}

// keptTerminals is the number of exited terminals that an agent can still query.
const keptTerminals = 64

func (s *session) forgetLater(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waited = append(s.waited, id)
	if len(s.waited) > keptTerminals {
		delete(s.terminals, s.waited[0])
		s.waited = s.waited[1:]
	}
}
