package host

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/ahp"
)

// waitKey names what an agent waits for: a tool call or an input request of a chat.
type waitKey struct {
	chat ahp.URI
	id   string
}

var errSilentTool = errors.New("the client did not answer in time")

// await registers for the answer to come; register before the question is asked.
func (h *Host) await(k waitKey) (answer <-chan ahp.Action, forget func()) {
	ch := make(chan ahp.Action, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiters[k] = ch
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.waiters[k] == ch {
			delete(h.waiters, k)
		}
	}
}

// answer hands an accepted action to its waiter; there is one answer each.
func (h *Host) answer(chat ahp.URI, id string, a ahp.Action) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := waitKey{chat, id}
	if ch := h.waiters[k]; ch != nil {
		delete(h.waiters, k)
		ch <- a // has room: it is only ever filled here, once
	}
}

// waitFor takes the answer, or says why there is none: the caller gave up, or its turn is over.
func waitFor[A ahp.Action](ctx, turn context.Context, answer <-chan ahp.Action) (A, error) {
	var none A
	select {
	case a := <-answer:
		if a, ok := a.(A); ok {
			return a, nil
		}
		return none, errTurnOver
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-turn.Done():
		return none, context.Cause(turn)
	}
}
