package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/pipe"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// serveAgents returns the handlers of calls about agents.
func serveAgents(agents func() map[string]agent.Backend) map[string]pipe.Handler {
	find := func(q agentCall) (agent.Backend, error) { return findAgent(agents(), q.Provider) }
	return map[string]pipe.Handler{
		"agents.describe": pipe.Answer(func(ctx context.Context, q agentCall) (out pipe.JSON[ahp.AgentInfo],
			err error) {
			b, err := find(q)
			if err != nil {
				return out, err
			}
			out.V, err = b.Describe(ctx)
			return out, err
		}),
		"agents.config": pipe.Answer(func(_ context.Context, q agentCall) (out pipe.JSON[ahp.SessionConfigSchema],
			err error) {
			b, err := find(q)
			if err == nil {
				out.V = b.Config()
			}
			return out, err
		}),
		"agents.commands": pipe.Answer(func(_ context.Context, q agentCall) ([]agent.SlashCommand, error) {
			b, err := find(q)
			if c, ok := b.(agent.Commander); ok {
				return c.Commands(), nil
			}
			return nil, err
		}),
		"agents.authenticate": pipe.Answer(func(ctx context.Context, q agentCall) (bool, error) {
			b, err := find(q)
			if a, ok := b.(agent.Authenticator); ok {
				return a.Authenticate(ctx, q.Resource, q.Token)
			}
			return false, err
		}),
		"agents.allows": pipe.AnswerNone(func(_ context.Context, q agentCall) error {
			b, err := find(q)
			if c, ok := b.(agent.Confined); ok {
				return c.Allows(q.Dir)
			}
			return err
		}),
	}
}

func findAgent(agents map[string]agent.Backend, provider string) (agent.Backend, error) {
	if b := agents[provider]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("this machine has no agent %.40q", provider)
}

// servedSession is an agent's session on this computer.
type servedSession struct {
	from *Server
	talk *pipe.Talk
	log  *slog.Logger
	ctx  context.Context
	end  context.CancelCauseFunc

	mu      sync.Mutex
	session agent.Session
	outs    map[uint64]*out
	playing map[ahp.URI]chan struct{} // closed when the turn of a chat has ended
}

// serveAgent runs a session until the hub closes it.
func serveAgent(ctx context.Context, from *Server, c *pipe.Conduit, log *slog.Logger) {
	s := &servedSession{from: from, talk: pipe.NewTalk(c, log), log: log, outs: map[uint64]*out{},
		playing: map[ahp.URI]chan struct{}{}}
	s.ctx, s.end = context.WithCancelCause(ctx)
	err := s.talk.Run(ctx, s.handlers()) // not s.ctx: it also carries the end of a session
	s.end(err)
	c.Close(nil)
	if err := s.close(); err != nil {
		log.Warn("an agent did not close well", "err", err)
	}
}

// close closes the session, once.
func (s *servedSession) close() error {
	s.mu.Lock()
	session := s.session
	s.session = nil
	s.mu.Unlock()
	if session == nil {
		return nil
	}
	return session.Close()
}

var errNotOpen = errors.New("this session is not open")

func (s *servedSession) get() (agent.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return nil, errNotOpen
	}
	return s.session, nil
}

func (s *servedSession) handlers() map[string]pipe.TalkHandler {
	return map[string]pipe.TalkHandler{
		"open": pipe.Do(s.open),
		"end": pipe.Take(func(_ context.Context, q endCall) error {
			go s.end(q.Cause.Decode())
			return nil
		}),
		"close":  pipe.Do(func(context.Context, struct{}) (struct{}, error) { return struct{}{}, s.close() }),
		"prompt": pipe.Do(s.prompt),
		"fault": pipe.Take(func(_ context.Context, q faultCall) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if o := s.outs[q.Key]; o != nil {
				o.fail(q.Err.Decode())
			}
			return nil
		}),
		"move": pipe.Do(func(_ context.Context, chat ahp.URI) (bool, error) {
			session, err := s.get()
			m, ok := session.(agent.Mover)
			return ok && m.Move(chat), err
		}),
		"set": pipe.Do(func(ctx context.Context, q setCall) (none struct{}, err error) {
			session, err := s.get()
			if x, ok := session.(agent.Settable); ok {
				return none, x.Set(ctx, q.Key, q.Value)
			}
			return none, err
		}),
		"steers": pipe.Do(func(_ context.Context, chat ahp.URI) (bool, error) {
			session, err := s.get()
			x, ok := session.(agent.Steerable)
			return ok && x.Steers(chat), err
		}),
		"steer": pipe.Do(func(ctx context.Context, q steerCall) (none struct{}, err error) {
			session, err := s.get()
			if x, ok := session.(agent.Steerable); ok {
				return none, x.Steer(ctx, q.Chat, q.Message.V)
			}
			return none, errors.Join(errors.New("this agent takes no messages during a turn"), err)
		}),
		"commands": pipe.Do(func(context.Context, struct{}) ([]agent.SlashCommand, error) {
			session, err := s.get()
			if x, ok := session.(agent.Commander); ok {
				return x.Commands(), nil
			}
			return nil, err
		}),
	}
}

// open opens the session. The session ends its context, not the call.
func (s *servedSession) open(ctx context.Context, q agentSpec) (facts sessionFacts, err error) {
	b, err := findAgent(s.from.machine.Agents(), q.Provider)
	if err != nil {
		return facts, err
	}
	stop := context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) }) // the hub cancelled the call
	spec := s.spec(q)
	if door := s.from.cfg.Door; door != nil && len(q.MCP) > 0 {
		spec.MCP, err = door.Add(s.ctx, q.MCP, func(ctx context.Context) (net.Conn, error) {
			return s.from.dialTools(ctx, s.talk.ID())
		})
		if err != nil {
			stop()
			return facts, err
		}
	}
	session, err := b.Open(s.ctx, spec)
	if err != nil {
		stop()
		return facts, err
	}
	if !stop() {
		return facts, errors.Join(context.Cause(ctx), session.Close())
	}
	s.mu.Lock()
	again := s.session != nil
	if !again {
		s.session = session
	}
	s.mu.Unlock()
	if again {
		return facts, errors.Join(errors.New("this session is open already"), session.Close())
	}
	_, facts.Moves = session.(agent.Mover)
	_, facts.Sets = session.(agent.Settable)
	_, facts.Steers = session.(agent.Steerable)
	_, facts.Commands = session.(agent.Commander)
	return facts, nil
}

func (s *servedSession) spec(q agentSpec) agent.Spec {
	spec := agent.Spec{Session: q.Session, Dirs: q.Dirs, Data: q.Data, Sent: q.Sent, Work: q.Work, MCP: q.MCP,
		Worktrees: q.Worktrees, Host: host{s}, Log: s.log.With("session", q.Session),
		Config: func(key string) string {
			value, _ := pipe.Ask[string](s.ctx, s.talk, "config", key) // the session ends
			return value
		}}
	switch {
	case q.HasKeep && q.HasReply:
		spec.Host = keepingReplyingHost{keepingHost{host{s}}}
	case q.HasKeep:
		spec.Host = keepingHost{host{s}}
	}
	if q.HasSandbox {
		spec.Sandbox = func(ctx context.Context) (*sandbox.Policy, error) {
			return pipe.Ask[*sandbox.Policy](ctx, s.talk, "sandbox", struct{}{})
		}
	}
	if q.HasSecrets {
		spec.Secrets = func(ctx context.Context) ([]string, error) {
			return pipe.Ask[[]string](ctx, s.talk, "secrets", struct{}{})
		}
	}
	if q.HasHide {
		spec.Hide = func(text string) string {
			hidden, err := pipe.Ask[string](s.ctx, s.talk, "hide", text)
			if err != nil {
				return "(not shown: the hub, which knows what is secret in it, is away)"
			}
			return hidden
		}
	}
	if q.HasProgress {
		spec.Progress = func(step string) { _ = s.talk.Tell(s.ctx, "progress", step) } // the session ends
	}
	return spec
}

// prompt plays a turn.
func (s *servedSession) prompt(ctx context.Context, q turnMessage) (none struct{}, err error) {
	session, err := s.get()
	if err != nil {
		return none, err
	}
	end, err := s.beginTurn(ctx, q.Chat)
	if err != nil {
		return none, err
	}
	defer end()
	o := s.addOut(ctx, q.Key)
	defer s.removeOut(q.Key)
	return none, session.Prompt(ctx, q.turn(o))
}

// beginTurn waits for the end of a chat's turn that the hub cancelled while this computer was offline.
func (s *servedSession) beginTurn(ctx context.Context, chat ahp.URI) (end func(), err error) {
	for {
		s.mu.Lock()
		before := s.playing[chat]
		if before == nil {
			mine := make(chan struct{})
			s.playing[chat] = mine
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.playing, chat)
				close(mine)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (s *servedSession) addOut(ctx context.Context, key uint64) *out {
	o := &out{s: s, ctx: ctx, key: key}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outs[key] = o
	return o
}

// removeOut removes a turn that has ended: it sends nothing more.
func (s *servedSession) removeOut(key uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.outs[key]; o != nil {
		o.finish()
		delete(s.outs, key)
	}
}

// out implements agent.Out.
type out struct {
	s   *servedSession
	ctx context.Context // of the turn
	key uint64

	mu    sync.Mutex
	fault error // of an action sent without waiting
	over  bool
}

func (o *out) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
}

func (o *out) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fault = err
}

// failed returns, once, the error of an action sent without waiting, or that the turn has ended.
func (o *out) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return errTurnOver
	}
	err := o.fault
	o.fault = nil
	return err
}

// Emit applies an action. It does not wait for pieces of text unless the turn is cancelled: the next action returns the
// error of such a piece.
func (o *out) Emit(a ahp.Action) error {
	if err := o.failed(); err != nil {
		return err
	}
	q := emitCall{Key: o.key, Action: pipe.Action{V: a}}
	switch a.(type) {
	case *ahp.ChatDeltaAction, *ahp.ChatReasoningAction:
		if o.ctx.Err() == nil {
			return o.s.talk.Tell(o.s.ctx, "say", q)
		}
	}
	return pipe.AskNone(o.s.ctx, o.s.talk, "emit", q)
}

func (o *out) Confirm(ctx context.Context, a *ahp.ChatToolCallReadyAction) (*ahp.ChatToolCallConfirmedAction, error) {
	if err := o.failed(); err != nil {
		return nil, err
	}
	answer, err := pipe.Ask[confirmed](ctx, o.s.talk, "confirm", emitCall{Key: o.key, Action: pipe.Action{V: a}})
	if err != nil || answer.Answer == nil {
		return nil, err
	}
	return &answer.Answer.V, nil
}

func (o *out) Ask(ctx context.Context, q ahp.ChatInputRequest) (*ahp.ChatInputCompletedAction, error) {
	if err := o.failed(); err != nil {
		return nil, err
	}
	answer, err := pipe.Ask[pipe.JSON[ahp.ChatInputCompletedAction]](ctx, o.s.talk, "ask",
		askCall{o.key, pipe.JSON[ahp.ChatInputRequest]{V: q}})
	if err != nil {
		return nil, err
	}
	return &answer.V, nil
}

func (o *out) ClientTool(ctx context.Context, client, tool string, input json.RawMessage) (ahp.ToolCallResult, error) {
	answer, err := pipe.Ask[pipe.JSON[ahp.ToolCallResult]](ctx, o.s.talk, "tool", toolCall{o.key, client, tool, input})
	return answer.V, err
}

// host implements agent.Host.
type host struct{ s *servedSession }

func (h host) Terminal(ctx context.Context, spec agent.TerminalSpec) (agent.Terminal, error) {
	started, err := pipe.Ask[startedTerminal](ctx, h.s.talk, "terminal", spec)
	if err != nil {
		return nil, err
	}
	return hostTerminal{h.s, started}, nil
}

func (h host) Spawn(ctx context.Context, spec agent.SpawnSpec) (agent.Turn, func(error), error) {
	q, err := pipe.Ask[turnMessage](ctx, h.s.talk, "spawn", spec)
	if err != nil {
		return agent.Turn{}, nil, err
	}
	return q.turn(h.s.addOut(ctx, q.Key)), func(err error) {
		_ = pipe.AskNone(h.s.ctx, h.s.talk, "spawned", spawnEnd{q.Key, pipe.EncodeError(err)}) // the session ends
		h.s.removeOut(q.Key)
	}, nil
}

func (h host) Background(ctx context.Context, spec agent.BackgroundSpec) error {
	t, ok := spec.Terminal.(hostTerminal)
	if !ok {
		return errors.New("only a terminal of this session can run in the background")
	}
	return pipe.AskNone(ctx, h.s.talk, "background", backgroundCall{spec.Chat, spec.Label, spec.Command, t.ID})
}

func (h host) Learn(o agent.Offer) {
	_ = pipe.AskNone(h.s.ctx, h.s.talk, "learn", pipe.JSON[agent.Offer]{V: o}) // the session ends
}

// keepingHost is a host that keeps both versions of edits.
type keepingHost struct{ host }

func (h keepingHost) Keep(path string, content []byte) (ahp.ContentRef, error) {
	ref, err := pipe.Ask[pipe.JSON[ahp.ContentRef]](h.s.ctx, h.s.talk, "keep", keepCall{path, content})
	return ref.V, err
}

// keepingReplyingHost is a keepingHost that also accepts answers to review threads.
type keepingReplyingHost struct{ keepingHost }

func (h keepingReplyingHost) Reply(ctx context.Context, thread, text string) error {
	return pipe.AskNone(ctx, h.s.talk, "reply", replyCall{thread, text})
}

// hostTerminal implements agent.Terminal.
type hostTerminal struct {
	s *servedSession
	startedTerminal
}

func (t hostTerminal) URI() ahp.URI { return t.startedTerminal.URI }

func (t hostTerminal) Wait(ctx context.Context) (exitCode int, tail string, err error) {
	out, err := pipe.Ask[waited](ctx, t.s.talk, "wait", t.ID)
	return out.ExitCode, out.Tail, err
}

func (t hostTerminal) Kill() {
	_ = pipe.AskNone(context.WithoutCancel(t.s.ctx), t.s.talk, "kill", t.ID) // the session has ended
}
