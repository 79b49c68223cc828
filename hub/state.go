package hub

import "github.com/ahphub/ahphub/hub/ahp"

// stateReader is implemented by *Hub and, within a step, by *Tx.
type stateReader interface{ peek(uri ahp.URI) ahp.State }

// StateOf returns a channel's state as an S: StateOf[*ahp.ChatState](tx, uri). It returns S's zero
// value and false if the channel is unknown, asleep or of another kind. A step must read from its
// Tx: reading from the Hub takes the lock that the step holds.
func StateOf[S ahp.State](r stateReader, uri ahp.URI) (S, bool) {
	s, ok := r.peek(uri).(S)
	return s, ok
}

func (tx *Tx) peek(uri ahp.URI) ahp.State { return tx.State(uri) }

func (h *Hub) peek(uri ahp.URI) ahp.State {
	s, _, _ := h.State(uri)
	return s
}
