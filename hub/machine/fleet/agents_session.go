package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// memberSession is a session of a member's agent.
type memberSession struct {
	agent.Session
	agent memberAgent
}

// explain returns an error of the session in the hub's terms.
func (s memberSession) explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*agent.Failure](err); ok {
		return err // the agent wrote it for people
	}
	n, _, _ := s.agent.find() // on an error, n still has an id
	return n.explain(err)
}

// Prompt plays a turn.
func (s memberSession) Prompt(ctx context.Context, t agent.Turn) error {
	if err := s.check(t.Message); err != nil {
		return &agent.Failure{Message: err.Error()}
	}
	err := s.Session.Prompt(ctx, s.agent.splitTurn(t))
	if ctx.Err() != nil {
		return err // the turn was cancelled, whatever the error
	}
	return s.explain(err)
}

// check refuses a message with a file of another computer, which the agent would read as a file of its own.
func (s memberSession) check(m ahp.Message) error {
	for _, a := range m.Attachments {
		r, ok := a.Value.(*ahp.MessageResourceAttachment)
		if ok && outward(s.agent.id).hides(r.URI) {
			n, _, _ := s.agent.find() // on an error, n still has an id
			return fmt.Errorf("%.100s is not on %s, where this session runs: attach a file of that machine, or what "+
				"the file holds", r.Label, n.name)
		}
	}
	return nil
}

// hides reports whether s cannot spell the file of a URI.
func (s spelling) hides(uri ahp.URI) bool {
	return respell(s, ahp.ContentRef{URI: uri}).URI == elsewhere && uri != elsewhere
}

// Close closes the session.
func (s memberSession) Close() error { return s.explain(s.Session.Close()) }

// Move makes the turn of a chat stop waiting for its command.
func (s memberSession) Move(chat ahp.URI) bool {
	m, ok := s.Session.(agent.Mover)
	return ok && m.Move(chat)
}

// Set changes a setting of the agent.
func (s memberSession) Set(ctx context.Context, key string, value json.RawMessage) error {
	if x, ok := s.Session.(agent.Settable); ok {
		return s.explain(x.Set(ctx, key, value))
	}
	return nil
}

// Steers reports whether the chat's turn accepts a message.
func (s memberSession) Steers(chat ahp.URI) bool {
	x, ok := s.Session.(agent.Steerable)
	return ok && x.Steers(chat)
}

// Steer delivers a message during a turn.
func (s memberSession) Steer(ctx context.Context, chat ahp.URI, m ahp.Message) error {
	x, ok := s.Session.(agent.Steerable)
	if !ok {
		return errors.New("this agent takes no messages during a turn")
	}
	if err := s.check(m); err != nil {
		return err
	}
	return s.explain(x.Steer(ctx, chat, respell(outward(s.agent.id), m)))
}

// Commands returns the session's slash commands.
func (s memberSession) Commands() []agent.SlashCommand {
	if c, ok := s.Session.(agent.Commander); ok {
		return c.Commands()
	}
	return s.agent.Commands()
}

// splitTurn returns a turn in the member's spelling.
func (a memberAgent) splitTurn(t agent.Turn) agent.Turn {
	to := outward(a.id)
	t.Message, t.Threads, t.History = respell(to, t.Message), respell(to, t.Threads), respell(to, t.History)
	t.Out = memberOut{t.Out, a}
	return t
}

// memberOut is the Out of a turn of a member's agent.
type memberOut struct {
	agent.Out
	agent memberAgent
}

// Emit applies an action.
func (o memberOut) Emit(a ahp.Action) error { return o.Out.Emit(respell(hubward(o.agent.id), a)) }

// Confirm asks for the approval of a tool call.
func (o memberOut) Confirm(ctx context.Context, a *ahp.ChatToolCallReadyAction) (
	*ahp.ChatToolCallConfirmedAction, error,
) {
	answer, err := o.Out.Confirm(ctx, respell(hubward(o.agent.id), a))
	return respell(outward(o.agent.id), answer), err
}

// Ask asks the session's people.
func (o memberOut) Ask(ctx context.Context, q ahp.ChatInputRequest) (*ahp.ChatInputCompletedAction, error) {
	return o.Out.Ask(ctx, respell(hubward(o.agent.id), q))
}

// ClientTool runs a tool of a client.
func (o memberOut) ClientTool(ctx context.Context, client, tool string, input json.RawMessage) (
	ahp.ToolCallResult, error,
) {
	result, err := o.Out.ClientTool(ctx, client, tool, input)
	return respell(outward(o.agent.id), result), err
}

// replier is a host whose agents can answer review threads.
type replier interface {
	Reply(ctx context.Context, thread, text string) error
}

// host returns the Host for a session of the member.
func (a memberAgent) host(spec agent.Spec) agent.Host {
	h := memberHost{spec.Host, a, ""}
	if len(spec.Dirs) > 0 {
		h.dir = spec.Dirs[0]
	}
	keeper, keeps := spec.Host.(agent.Keeper)
	r, replies := spec.Host.(replier)
	switch {
	case keeps && replies:
		return struct {
			keepingHost
			replier
		}{keepingHost{h, keeper}, r}
	case keeps:
		return keepingHost{h, keeper}
	case replies:
		return struct {
			memberHost
			replier
		}{h, r}
	}
	return h
}

// memberHost is the Host of a member's agent's session.
type memberHost struct {
	agent.Host
	agent memberAgent
	dir   string // the session's first directory, in the hub's spelling; "" without one
}

// Terminal starts a command, always on the member.
func (h memberHost) Terminal(ctx context.Context, spec agent.TerminalSpec) (agent.Terminal, error) {
	var err error
	switch {
	case spec.Dir != "":
		spec.Dir, err = place.JoinPath(h.agent.id, spec.Dir)
	case h.dir == "": // it would run on the hub's own computer
		err = ahp.Errorf(ahp.CodeInvalidParams, "this session has no directory in which a command could run: add one")
	default:
		spec.Dir = h.dir
	}
	if err != nil {
		return nil, err
	}
	return h.Host.Terminal(ctx, spec)
}

// Spawn creates a sub-chat with a running turn.
func (h memberHost) Spawn(ctx context.Context, spec agent.SpawnSpec) (agent.Turn, func(error), error) {
	t, end, err := h.Host.Spawn(ctx, spec)
	if err != nil {
		return t, end, err
	}
	return h.agent.splitTurn(t), end, nil
}

// Learn records what the agent reports about itself.
func (h memberHost) Learn(o agent.Offer) {
	n, _, _ := h.agent.find() // on an error, n still has an id
	if o.Models != nil {
		o.Models = h.agent.models(o.Models)
	}
	if o.Logins != nil {
		o.Logins = n.joinLogins(o.Logins)
	}
	h.Host.Learn(o)
}

// keepingHost is a memberHost that keeps both versions of edits.
type keepingHost struct {
	memberHost
	keeper agent.Keeper
}

// Keep stores content of a file of the member.
func (h keepingHost) Keep(path string, content []byte) (ahp.ContentRef, error) {
	joined, err := place.JoinPath(h.agent.id, path)
	if err != nil {
		return ahp.ContentRef{}, err
	}
	return h.keeper.Keep(joined, content)
}

// sandbox returns a function that returns ask's policies in the computer's spelling.
func (n node) sandbox(ask func(context.Context) (*sandbox.Policy, error)) func(context.Context) (*sandbox.Policy,
	error) {
	return func(ctx context.Context) (*sandbox.Policy, error) {
		p, err := ask(ctx)
		if err != nil {
			return nil, err
		}
		if p, err = splitPolicy(n.id, p); err != nil {
			return nil, err
		}
		return p, nil
	}
}
