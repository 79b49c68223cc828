package host

import (
	"context"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Terminal starts a command in a terminal of the session.
func (a agentHost) Terminal(ctx context.Context, spec agent.TerminalSpec) (agent.Terminal, error) {
	return a.l.h.Terminals.StartCommand(ctx, a.l.uri, spec)
}

// Background lists a command in its chat while it runs.
func (a agentHost) Background(ctx context.Context, spec agent.BackgroundSpec) error {
	spec.Label, spec.Command = a.l.hide(spec.Label), a.l.hide(spec.Command)
	return a.l.h.Terminals.Background(ctx, a.l.uri, spec)
}

// MoveToBackground lets a chat's turn continue without waiting for its running command.
//
// Errors: -32008 no such chat, -32009 not allowed, -32011 nothing to move.
func (h *Host) MoveToBackground(c core.Caller, chat ahp.URI) error {
	info, known := h.core.Hub.Info(chat)
	if !known || info.Kind != ahp.ChannelChat || !c.Audience().Sees(info) {
		return core.NoChannel(chat)
	}
	// the right to cancel a turn includes the right to move it
	if err := c.MayAct("chat/turnCancelled", info); err != nil {
		return err
	}
	if l := h.turns.findRuntime(info.Session); l != nil && l.moveToBackground(chat) {
		return nil
	}
	return ahp.Errorf(ahp.CodeConflict, "nothing is running here that can continue in the background")
}

func (l *sessionRuntime) moveToBackground(chat ahp.URI) bool {
	l.mu.Lock()
	mover, ok := l.agent.(agent.Mover)
	l.mu.Unlock()
	return ok && mover.Move(chat)
}
