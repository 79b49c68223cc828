package hub

import "github.com/ahphub/ahphub/hub/ahp"

// Tell sends an action to only one connection, in order and with a number of its own: something
// that only this client asked for, such as older turns of a chat (AHP requirement 88). It changes
// no state and is not replayed. It returns nil when the connection does not see the channel.
func (c *Conn) Tell(uri ahp.URI, a ahp.Action) *Envelope {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[uri]
	if ch == nil || !c.audience.Sees(ch.info) {
		return nil
	}
	e := &Envelope{Channel: ch.info, Action: a, Seq: h.next(), At: h.now(), estimate: estimateSize(a), alone: true}
	c.push(e.enter(ch.pos))
	return e
}
