package acp

import (
	"context"
	"encoding/json"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// stream is the output in one chat: the turn's own, or that of a sub-agent which works for a call
// of the turn.
type stream struct {
	out  agent.Out
	chat ahp.URI
	turn string
	end  func(error) // ends a sub-agent's turn
	lost bool        // a sub-agent's turn was ended, whatever the program reports

	part     *agent.Part // the growing text
	partKind string
	message  string           // the program's id of it
	plan     []agent.PlanStep // the last one emitted
	pictures int              // shown in this turn
	note     *ahp.ToolResultSubagentContent
}

// emit emits an action. When a person ended a sub-agent's turn its actions are dropped, and the
// turn it works for continues.
func (s *stream) emit(a ahp.Action) error { return s.spared(s.out.Emit(a)) }

func (s *stream) spared(err error) error {
	if err != nil && s.end != nil {
		s.lost = true
		return nil
	}
	return err
}

func (s *stream) close(err error) {
	if s.end != nil {
		s.end(err)
		s.end, s.lost = func(error) {}, true
	}
}

// at returns the stream of an update. A sub-agent's first update makes a chat for it, below the
// call it works for.
func (r *player) at(ctx context.Context, m updateMeta) (*stream, error) {
	id := m.parent()
	c := r.calls[id]
	if id == "" || c == nil {
		return r.main, nil
	}
	if s := r.subs[id]; s != nil {
		return s, nil
	}
	if c.stage == over {
		return c.in, nil
	}
	return r.spawn(ctx, id, c)
}

func (r *player) spawn(ctx context.Context, id string, c *call) (*stream, error) {
	if c.stage == announced { // it runs, because its sub-agent works
		c.status = "in_progress"
		if err := r.advance(c); err != nil {
			return nil, err
		}
	}
	var in struct {
		Description, Prompt string
		Agent               string `json:"subagent_type"`
	}
	_ = json.Unmarshal(c.input, &in) // missing fields are empty
	title := nameOf(in.Description, r.name(c))
	turn, end, err := r.s.spec.Host.Spawn(ctx, agent.SpawnSpec{Chat: c.in.chat, TurnID: c.in.turn, ToolCallID: c.id,
		Title: texts.ElideBytes(title, 200), Message: texts.ElideBytes(nameOf(in.Prompt, title), mostText)})
	if err != nil {
		r.s.log.Warn("cannot make a chat for a sub-agent; its output is shown in the calling chat", "err", err)
		r.subs[id] = c.in
		return c.in, nil
	}
	s := &stream{out: turn.Out, chat: turn.Chat, turn: turn.ID, end: end,
		note: &ahp.ToolResultSubagentContent{Resource: turn.Chat, Title: title, AgentName: in.Agent,
			Description: in.Description}}
	r.subs[id], c.sub, c.changed = s, s, true
	return s, r.advance(c)
}

var errCallFailed = &agent.Failure{Message: "The call this was done for failed."}

// closeSubs ends the turns of sub-agents with the result of the turn.
func (r *player) closeSubs(err error) {
	for _, s := range r.subs {
		s.close(err)
	}
}
