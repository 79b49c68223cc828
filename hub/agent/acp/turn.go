package acp

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

const mostEvents = 256 // waiting for a turn's goroutine, before the reader waits too

// player plays one turn; only its goroutine emits the turn's actions.
type player struct {
	s    *session
	p    *peer
	id   string // of the program's session
	turn agent.Turn

	events  chan event
	answers chan answer
	over    chan struct{} // closed when events are no longer accepted
	wg      sync.WaitGroup
	dropped bool // cancelled or failed: later events are dropped

	main  *stream
	subs  map[string]*stream // sub-agents' streams, by the call they work for
	calls map[string]*call
	forms []openForm // questions in free form, including answered ones
	used  ahp.UsageInfo
	more  map[string]any // for the usage

	costKnown  bool
	costBefore float64 // of the program's session, when the turn began

	asked   atomic.Int32         // forms that wait for a person
	current atomic.Pointer[call] // the newest call, for terminals
}

// event is the program's update or request in a turn.
type event struct {
	update *update
	ask    *permissionParams
	elicit *elicitation
	from   jsonrpc.Message // the request of a question

	withdraw *withdrawal
}

// refuse answers a question of a turn that accepts none.
func (e event) refuse(p *peer) {
	switch {
	case e.ask != nil:
		p.reply(e.from, cancelled)
	case e.elicit != nil:
		p.reply(e.from, e.elicit.answer(elicitAnswer{Action: "cancel"}))
	}
}

func newPlayer(s *session, p *peer, id string, t agent.Turn) *player {
	return &player{s: s, p: p, id: id, turn: t, calls: map[string]*call{}, subs: map[string]*stream{},
		more:   map[string]any{},
		main:   &stream{out: t.Out, chat: t.Chat, turn: t.ID},
		events: make(chan event, mostEvents), answers: make(chan answer), over: make(chan struct{})}
}

type ended struct {
	result promptResult
	err    error
}

// play prompts the program and emits its answer until the turn ends. notes come first.
func (r *player) play(ctx context.Context, prompt []block, notes []string) (failed error) {
	calling, stop := context.WithCancel(ctx) // for the turn's requests
	asking, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer r.wg.Wait()
	defer hangUp()
	defer func() { stop(); r.closeSubs(failed) }()
	defer r.hush()
	for _, text := range notes {
		if err := r.notice(text); err != nil {
			return err
		}
	}
	done := make(chan ended, 1)
	r.wg.Go(func() {
		var e ended
		e.err = r.p.call(asking, "session/prompt", promptParams{SessionID: r.id, Prompt: prompt}, &e.result)
		done <- e
	})
	return r.loop(calling, done)
}

// hush stops accepting events; remaining questions are refused.
func (r *player) hush() {
	close(r.over)
	r.dropped = true
	for len(r.events) > 0 {
		_ = r.take(context.Background(), <-r.events) // dropped events cannot fail
	}
}

func (r *player) loop(ctx context.Context, done <-chan ended) error {
	var failed error
	var late <-chan time.Time
	over := ctx.Done()
	quiet := newSilence(r)
	defer quiet.timer.Stop()
	for {
		var err error
		select {
		case e := <-r.events:
			if err = quiet.end(); err == nil {
				err = r.take(ctx, e)
			}
		case <-quiet.timer.C:
			err = quiet.tell()
		case a := <-r.answers:
			err = r.sendAnswer(a)
		case e := <-done:
			return r.finish(ctx, e, failed)
		case <-over:
			err = context.Cause(ctx)
		case <-late:
			r.s.log.Warn("an agent did not end a cancelled turn; killing it")
			r.p.proc.kill()
			return failed
		}
		if err != nil && failed == nil {
			failed, over, r.dropped = err, nil, true
			r.p.notify("session/cancel", map[string]string{"sessionId": r.id})
			late = time.After(r.s.limits.Cancel)
		}
	}
}

// finish emits what arrived before the answer to the prompt; then the answer determines how the
// turn ends.
func (r *player) finish(ctx context.Context, e ended, failed error) error {
	for failed == nil && len(r.events) > 0 {
		failed = r.take(ctx, <-r.events)
	}
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case e.err != nil:
		r.s.refused(r.p, e.err)
		return adviseResume(r.p.explain(e.err))
	}
	if err := r.usage(e.result.Usage); err != nil {
		return err
	}
	return r.outcome(e.result.StopReason)
}

// outcome converts the reason in an answer to the turn's error. A truncated answer can be resumed:
// the program is asked to continue.
func (r *player) outcome(reason string) error {
	name := r.s.prog.title()
	switch reason {
	case "max_tokens":
		r.s.markCutOff(r.turn.ID)
		return &agent.Failure{Message: "The answer reached the model's length limit. Resume to continue.",
			Resumable: true}
	case "max_turn_requests":
		r.s.markCutOff(r.turn.ID)
		return &agent.Failure{Message: name + " reached its limit of model requests for one turn. Resume to continue.",
			Resumable: true}
	case "refusal":
		return &agent.Failure{Message: name +
			" refused to continue and dropped this message. Rephrase it and try again."}
	case "cancelled":
		return &agent.Failure{Message: name + " cancelled this turn. Resume to try again.", Resumable: true}
	}
	return nil
}

// take handles one event.
func (r *player) take(ctx context.Context, e event) error {
	switch {
	case r.dropped:
		e.refuse(r.p)
	case e.ask != nil:
		return r.ask(ctx, e)
	case e.elicit != nil:
		return r.elicit(ctx, e)
	case e.withdraw != nil:
		r.withdraw(e.withdraw)
	default:
		return r.update(ctx, e.update)
	}
	return nil
}

func (r *player) update(ctx context.Context, u *update) error {
	switch u.Kind { // first: newer kinds of updates may have similar fields
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
	case "usage_update":
		return r.context(u)
	default:
		return nil
	}
	s, err := r.at(ctx, u.Meta)
	if err != nil || s.lost {
		return err
	}
	switch u.Kind {
	case "agent_message_chunk":
		if b, ok := pictureOf(u); ok {
			return s.picture(r.s.spec.Host, b)
		}
		return s.chunk(u, agent.Markdown)
	case "agent_thought_chunk":
		return s.chunk(u, agent.Reasoning)
	case "plan":
		return s.emitPlan(u.Entries)
	}
	return r.toolCall(s, &u.toolFields, u.Content)
}

// pictureOf returns the picture that a chunk of an answer is.
func pictureOf(u *update) (b block, ok bool) {
	ok = json.Unmarshal(u.Content, &b) == nil && b.Type == "image" && b.Data != ""
	return b, ok
}

// chunk adds a piece to the growing text, or begins another text.
func (s *stream) chunk(u *update, begin func(agent.Out) (*agent.Part, error)) error {
	var b block
	if err := json.Unmarshal(u.Content, &b); err != nil {
		return nil
	}
	text := markdown(b)
	if text == "" {
		return nil
	}
	if s.part == nil || s.partKind != u.Kind || s.message != u.MessageID {
		part, err := begin(s.out)
		if err != nil {
			return s.spared(err)
		}
		s.part, s.partKind, s.message = part, u.Kind, u.MessageID
	}
	return s.spared(s.part.Add(text))
}

// usage emits a turn's tokens.
func (r *player) usage(u *usage) error {
	if u == nil {
		return nil
	}
	r.used.InputTokens, r.used.OutputTokens, r.used.CacheReadTokens = u.InputTokens, u.OutputTokens, u.CachedReadTokens
	r.used.Model = r.s.model(r.p, r.id)
	more := map[string]any{}
	for name, n := range map[string]*int64{"cacheWriteTokens": u.CachedWrite, "thoughtTokens": u.Thought} {
		if n != nil {
			more[name] = *n
		}
	}
	return r.emitUsage(more)
}

// context emits how full the model's context is and the session's cost.
func (r *player) context(u *update) error {
	more := map[string]any{"contextUsed": u.Used, "contextSize": u.Size}
	if u.Cost != nil {
		more["cost"], more["currency"] = u.Cost.Amount, u.Cost.Currency
		more["turnCost"] = r.turnCost(u.Cost.Amount)
	}
	return r.emitUsage(more)
}

// turnCost returns the turn's part of the total cost of the program's session. A restarted program
// may count from zero.
func (r *player) turnCost(total float64) float64 {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	c := r.s.chats[r.turn.Chat]
	if !r.costKnown || total < r.costBefore {
		r.costKnown, r.costBefore = true, c.Cost
		if total < c.Cost {
			r.costBefore = 0
		}
	}
	c.Cost = total
	r.s.chats[r.turn.Chat] = c
	return total - r.costBefore
}

// emitUsage emits the usage, with values that the protocol has no field for.
func (r *player) emitUsage(more map[string]any) error {
	maps.Copy(r.more, more)
	r.used.Meta = nil
	if len(r.more) > 0 {
		raw, err := json.Marshal(r.more)
		if err != nil {
			return err
		}
		r.used.Meta = ahp.Meta{"acp": raw}
	}
	return r.main.emit(&ahp.ChatUsageAction{Usage: r.used})
}
