package host

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/ahp"
)

// waitKey identifies what an agent waits for: a tool call or an input request of a chat.
type waitKey struct {
	chat ahp.URI
	id   string
}

var errSilentTool = errors.New("the client did not answer in time")

// await registers a waiter. Call it before the question is asked.
func (ts *turns) await(k waitKey) (answer <-chan ahp.Action, forget func()) {
	ch := make(chan ahp.Action, 1)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.waiters[k] = ch
	return ch, func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if ts.waiters[k] == ch {
			delete(ts.waiters, k)
		}
	}
}

// answer passes an accepted action to its waiter; each waiter gets one.
func (ts *turns) answer(chat ahp.URI, id string, a ahp.Action) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	k := waitKey{chat, id}
	if ch := ts.waiters[k]; ch != nil {
		delete(ts.waiters, k)
		ch <- a // never blocks: filled only once, here
	}
}

// waitFor returns the answer, or why there is none: the caller gave up, or its turn ended.
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
