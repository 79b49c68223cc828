package acp

import (
	"context"
	"encoding/json"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// stream is what is said in one chat: the turn's own, or that of a sub-agent which works for a call of the turn.
type stream struct {
	out  agent.Out
	chat ahp.URI
	turn string
	end  func(error) // of a sub-agent's turn
	lost bool        // a sub-agent's turn is over, whatever the program says

	part     *agent.Part // the text that grows now
	partKind string
	message  string // the program's id of it
	plan     string // the texts of the last plan's steps
	note     *ahp.ToolResultSubagentContent
}

// emit says something. A sub-agent's turn that somebody ended takes no more, and the turn it works for goes on.
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

// at finds where something belongs. The first thing a sub-agent says makes a chat for it, below the call it works for.
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
	if c.stage == announced { // it runs, as something is done for it
		c.status = "in_progress"
		if err := r.advance(c); err != nil {
			return nil, err
		}
	}
	var in struct {
		Description, Prompt string
		Agent               string `json:"subagent_type"`
	}
	_ = json.Unmarshal(c.input, &in) // what is not there is empty
	title := nameOf(in.Description, r.name(c))
	turn, end, err := r.s.spec.Host.Spawn(ctx, agent.SpawnSpec{Chat: c.in.chat, TurnID: c.in.turn, ToolCallID: c.id,
		Title: texts.ElideBytes(title, 200), Message: texts.ElideBytes(nameOf(in.Prompt, title), mostText)})
	if err != nil {
		r.s.log.Warn("a sub-agent has no chat of its own: what it does is shown where it was called", "err", err)
		r.subs[id] = c.in
		return c.in, nil
	}
	s := &stream{out: turn.Out, chat: turn.Chat, turn: turn.ID, end: end,
		note: &ahp.ToolResultSubagentContent{Resource: turn.Chat, Title: title, AgentName: in.Agent, Description: in.Description}}
	r.subs[id], c.sub, c.changed = s, s, true
	return s, r.advance(c)
}

var errCallFailed = &agent.Failure{Message: "The call this was done for failed."}

// closeSubs ends what sub-agents still do when the turn is over, as it ended.
func (r *player) closeSubs(err error) {
	for _, s := range r.subs {
		s.close(err)
	}
}
