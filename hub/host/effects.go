package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// effects says what an accepted action makes the host do once it is durable. Effects of
// one key (a chat, a terminal, a changeset: the channel) run in the timeline's order.
var effects = map[string]func(*Host, context.Context, *hub.Envelope){
	"chat/turnStarted":            effect((*Host).runTurn),
	"chat/turnResume":             effect((*Host).resumeTurn),
	"chat/turnComplete":           effect((*Host).turnEnded),
	"chat/turnCancelled":          effect((*Host).turnCancelled),
	"chat/error":                  effect((*Host).turnFailed),
	"chat/truncated":              effect((*Host).chatTruncated),
	"chat/toolCallConfirmed":      effect((*Host).toolCallConfirmed),
	"chat/toolCallComplete":       effect((*Host).toolCallCompleted),
	"chat/inputCompleted":         effect((*Host).inputCompleted),
	"session/activeClientSet":     effect((*Host).activeClientSet),
	"session/activeClientRemoved": effect((*Host).activeClientRemoved),

	"session/workingDirectorySet":      effect((*Host).dirSet),
	"session/workingDirectoryRemoved":  effect((*Host).dirRemoved),
	"session/workingDirectoryReplaced": effect((*Host).dirReplaced),

	"session/mcpServerStartRequested":      effect((*Host).serverStartRequested),
	"session/mcpServerStopRequested":       effect((*Host).serverStopRequested),
	"session/mcpServerBackgroundRequested": effect((*Host).serverBackgrounded),

	"terminal/input":   effect((*Host).terminalTyped),
	"terminal/resized": effect((*Host).terminalSized),
}

func effect[A ahp.Action](run func(*Host, context.Context, *hub.Envelope, A)) func(*Host, context.Context, *hub.Envelope) {
	return func(h *Host, ctx context.Context, e *hub.Envelope) {
		if a, ok := e.Action.(A); ok {
			run(h, ctx, e, a)
		}
	}
}

// Derive is the host's part of every accepted envelope, under the hub's lock and without
// I/O: aggregation now, effects after.
func (h *Host) Derive(tx *hub.Tx, e *hub.Envelope) {
	switch e.Channel.Kind {
	case ahp.ChannelChat:
		h.deriveChat(tx, e)
		h.deriveRun(tx, e)
	case ahp.ChannelSession:
		h.deriveSession(tx, e)
	case ahp.ChannelAnnotations:
		h.deriveAnnotations(tx, e)
	case ahp.ChannelTerminal:
		h.deriveTerminal(tx, e)
	}
	if run := effects[e.Action.ActionType()]; run != nil {
		tx.Effect(e.Channel.URI, func(ctx context.Context) { run(h, ctx, e) })
	}
}
