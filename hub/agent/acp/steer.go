package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Some programs accept messages during a turn. They report it in initialize, as an extension of the
// protocol.

type steerParams struct {
	SessionID string    `json:"sessionId"`
	Prompt    []block   `json:"prompt"`
	Meta      steerMeta `json:"_meta"`
}

type steerMeta struct {
	Steering struct {
		Idle string `json:"idleBehavior"` // what to do when no turn runs
	} `json:"steering"`
}

// Steers reports whether the turn of a chat accepts messages.
func (s *session) Steers(chat ahp.URI) bool {
	r := s.playing(chat)
	return r != nil && r.p.about.Meta.Steering.Supported
}

func (s *session) playing(chat ahp.URI) *player {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.turns {
		if r.turn.Chat == chat {
			return r
		}
	}
	return nil
}

// Steer sends a message to the program, in the form of a prompt.
func (s *session) Steer(ctx context.Context, chat ahp.URI, m ahp.Message) error {
	r := s.playing(chat)
	if r == nil {
		return errors.New("the turn has ended")
	}
	blocks, _ := s.content(r.p, r.turn.ID, m)
	q := steerParams{SessionID: r.id, Prompt: blocks}
	q.Meta.Steering.Idle = "promptRequired"
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.Cancel, errSlow)
	defer cancel()
	var got struct {
		Outcome string `json:"outcome"`
	}
	if err := r.p.call(ctx, "_session/steering", q, &got); err != nil {
		return r.p.explain(err)
	}
	if got.Outcome == "promptRequired" {
		return fmt.Errorf("%s has no turn that could accept this message", s.prog.title())
	}
	return nil
}
