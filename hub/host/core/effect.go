package core

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Effect runs after an action is durable. Effects of one channel run in the timeline's order.
type Effect func(context.Context, *hub.Envelope)

// On returns an Effect that runs for actions of the type A.
func On[A ahp.Action](run func(context.Context, *hub.Envelope, A)) Effect {
	return func(ctx context.Context, e *hub.Envelope) {
		if a, ok := e.Action.(A); ok {
			run(ctx, e, a)
		}
	}
}
