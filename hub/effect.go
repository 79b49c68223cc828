package hub

import "context"

// Effect is something that leaves the process because of an action: a prompt, a command, input for
// a terminal. Effects of one Key run in order.
type Effect struct {
	Key string
	Run func(context.Context)

	pos int64 // journal position of its cause
}

// effects is a queue in the order of the timeline; guarded by Hub.mu.
type effects struct {
	queue []Effect
	wake  chan struct{}
}

func newEffects() effects { return effects{wake: make(chan struct{}, 1)} }

func (q *effects) add(e Effect) {
	q.queue = append(q.queue, e)
	signal(q.wake)
}

func (q *effects) release() {
	if len(q.queue) > 0 {
		signal(q.wake)
	}
}

// Effects blocks until effects are due, and returns those whose cause is durable, in order. The
// host is its only caller.
func (h *Hub) Effects(ctx context.Context) ([]Effect, error) {
	for {
		if due := h.dueEffects(); len(due) > 0 {
			return due, nil
		}
		select {
		case <-h.effects.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (h *Hub) dueEffects() []Effect {
	h.mu.Lock()
	defer h.mu.Unlock()
	q, durable := h.effects.queue, h.durable.Load()
	n := 0
	for n < len(q) && q[n].pos <= durable {
		n++
	}
	due := append([]Effect(nil), q[:n]...)
	h.effects.queue = append(q[:0], q[n:]...)
	clear(q[len(q)-n:])
	return due
}
