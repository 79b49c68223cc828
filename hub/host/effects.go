package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// newEffects returns the effects that run after accepted actions are durable.
func (h *Host) newEffects() map[string]core.Effect {
	effects := h.ownEffects()
	mergeTables(effects, h.Terminals.Effects())
	mergeTables(effects, h.clients.Effects())
	mergeTables(effects, h.Customs.Effects())
	return effects
}

// ownEffects returns the effects of sessions, chats, turns and tools.
func (h *Host) ownEffects() map[string]core.Effect {
	return map[string]core.Effect{
		"chat/turnStarted":       core.On(h.turns.runTurn),
		"chat/turnResume":        core.On(h.turns.resumeTurn),
		"chat/turnComplete":      core.On(h.turns.handleTurnEnded),
		"chat/turnCancelled":     core.On(h.turns.handleTurnCancelled),
		"chat/error":             core.On(h.turns.handleTurnFailed),
		"chat/truncated":         core.On(h.turns.handleChatTruncated),
		"chat/toolCallConfirmed": core.On(h.turns.handleToolCallConfirmed),
		"chat/toolCallComplete":  core.On(h.turns.handleToolCallCompleted),
		"chat/inputCompleted":    core.On(h.turns.handleInputCompleted),

		"session/workingDirectorySet":      core.On(h.handleDirSet),
		"session/workingDirectoryRemoved":  core.On(h.handleDirRemoved),
		"session/workingDirectoryReplaced": core.On(h.handleDirReplaced),
	}
}

// Derive handles every accepted envelope, under the hub's lock and without I/O: it aggregates now
// and schedules effects for later.
func (h *Host) Derive(tx *hub.Tx, e *hub.Envelope) {
	switch e.Channel.Kind {
	case ahp.ChannelChat:
		h.deriveChat(tx, e)
		h.Automations.Derive(tx, e)
	case ahp.ChannelSession:
		h.deriveSession(tx, e)
	case ahp.ChannelAnnotations:
		h.Threads.Derive(tx, e)
		h.deriveAnnotations(tx, e)
	case ahp.ChannelTerminal:
		h.Terminals.Derive(tx, e)
	}
	if run := h.effects[e.Action.ActionType()]; run != nil {
		tx.Effect(e.Channel.URI, func(ctx context.Context) { run(ctx, e) })
	}
}
