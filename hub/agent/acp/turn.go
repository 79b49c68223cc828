package acp

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

const mostEvents = 256 // that wait for a turn's goroutine, before the reader waits too

// player plays one turn: the only goroutine that says something of it.
type player struct {
	s    *session
	p    *peer
	id   string // of the program's session
	turn agent.Turn

	events  chan event
	answers chan answer
	over    chan struct{} // closed when nobody takes events any more
	wg      sync.WaitGroup
	dropped bool // cancelled or failed: what still comes is not said

	part     *agent.Part // the text that grows now
	partKind string
	message  string // the program's id of it
	calls    map[string]*call
	plan     string // the texts of the last plan's steps
	used     ahp.UsageInfo
	current  atomic.Pointer[call] // the newest call, for terminals
}

// event is what the program said of a turn: an update, or a question.
type event struct {
	update *update
	ask    *permissionParams
	from   jsonrpc.Message // the request of a question
}

func newPlayer(s *session, p *peer, id string, t agent.Turn) *player {
	return &player{s: s, p: p, id: id, turn: t, calls: map[string]*call{},
		events: make(chan event, mostEvents), answers: make(chan answer), over: make(chan struct{})}
}

type ended struct {
	result promptResult
	err    error
}

// play prompts the program and says what it answers, until it is done.
func (r *player) play(ctx context.Context, prompt []block) error {
	calling, stop := context.WithCancel(ctx) // for what belongs to the turn
	asking, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer r.wg.Wait()
	defer hangUp()
	defer stop()
	defer r.hush()
	done := make(chan ended, 1)
	r.wg.Go(func() {
		var e ended
		e.err = r.p.call(asking, "session/prompt", promptParams{SessionID: r.id, Prompt: prompt}, &e.result)
		done <- e
	})
	return r.loop(calling, done)
}

// hush takes no more events; questions among those left are answered by nobody.
func (r *player) hush() {
	close(r.over)
	r.dropped = true
	for len(r.events) > 0 {
		_ = r.take(context.Background(), <-r.events) // dropped ones cannot fail
	}
}

func (r *player) loop(ctx context.Context, done <-chan ended) error {
	var failed error
	var late <-chan time.Time
	over := ctx.Done()
	for {
		var err error
		select {
		case e := <-r.events:
			err = r.take(ctx, e)
		case a := <-r.answers:
			err = r.answered(a)
		case e := <-done:
			return r.finish(ctx, e, failed)
		case <-over:
			err = context.Cause(ctx)
		case <-late:
			r.s.log.Warn("an agent does not end a cancelled turn: it is killed")
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

// finish says what came before the answer to the prompt and is not said yet; then
// the answer says how the turn ends.
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
		return again(r.p.explain(e.err))
	}
	if err := r.usage(e.result.Usage); err != nil {
		return err
	}
	return r.outcome(e.result.StopReason)
}

// outcome tells apart how an answer ended. One that was cut short can be resumed:
// the program is asked to go on.
func (r *player) outcome(reason string) error {
	name := r.s.prog.title()
	switch reason {
	case "max_tokens":
		r.s.cutOff(r.turn.ID)
		return &agent.Failure{Message: "The answer is as long as the model may write at once. Resume to have it go on.", Resumable: true}
	case "max_turn_requests":
		r.s.cutOff(r.turn.ID)
		return &agent.Failure{Message: name + " asked its model as often as it may in one turn. Resume to have it go on.", Resumable: true}
	case "refusal":
		return &agent.Failure{Message: name + " refuses to go on with this. It forgets this message: say it in another way."}
	case "cancelled":
		return &agent.Failure{Message: name + " cancelled this turn by itself. Resume to try it again.", Resumable: true}
	}
	return nil
}

// take says one event.
func (r *player) take(ctx context.Context, e event) error {
	switch {
	case e.ask != nil && r.dropped:
		r.p.reply(e.from, cancelled)
	case e.ask != nil:
		return r.ask(ctx, e)
	case !r.dropped:
		return r.update(e.update)
	}
	return nil
}

func (r *player) update(u *update) error {
	switch u.Kind {
	case "agent_message_chunk":
		return r.chunk(u, agent.Markdown)
	case "agent_thought_chunk":
		return r.chunk(u, agent.Reasoning)
	case "tool_call", "tool_call_update":
		return r.toolCall(&u.toolFields, u.Content)
	case "plan":
		return r.planned(u.Entries)
	case "usage_update":
		return r.context(u)
	}
	return nil // modes, commands and what newer programs say
}

// chunk adds a piece to the text that grows, or begins another text.
func (r *player) chunk(u *update, begin func(agent.Out) (*agent.Part, error)) error {
	var b block
	if err := json.Unmarshal(u.Content, &b); err != nil {
		return nil
	}
	text := markdown(b)
	if text == "" {
		return nil
	}
	if r.part == nil || r.partKind != u.Kind || r.message != u.MessageID {
		part, err := begin(r.turn.Out)
		if err != nil {
			return err
		}
		r.part, r.partKind, r.message = part, u.Kind, u.MessageID
	}
	return r.part.Add(text)
}

// usage says what a turn cost in tokens.
func (r *player) usage(u *usage) error {
	if u == nil {
		return nil
	}
	r.used.InputTokens, r.used.OutputTokens, r.used.CacheReadTokens = u.InputTokens, u.OutputTokens, u.CachedReadTokens
	return r.turn.Out.Emit(&ahp.ChatUsageAction{Usage: r.used})
}

// context says how full the model's context is and what the session cost so far.
func (r *player) context(u *update) error {
	says := map[string]any{"contextUsed": u.Used, "contextSize": u.Size}
	if u.Cost != nil {
		says["cost"], says["currency"] = u.Cost.Amount, u.Cost.Currency
	}
	raw, err := json.Marshal(says)
	if err != nil {
		return err
	}
	r.used.Meta = ahp.Meta{"acp": raw}
	return r.turn.Out.Emit(&ahp.ChatUsageAction{Usage: r.used})
}
