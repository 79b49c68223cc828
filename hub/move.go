package hub

import "github.com/ahphub/ahphub/hub/ahp"

// Move gives a channel to another session, with its state and those of its followers who may see it
// there. Its history is not replayed: reconnecting clients get a snapshot. It returns false for a
// sleeping channel, which cannot be moved.
func (tx *Tx) Move(uri, session ahp.URI) bool {
	h := tx.h
	ch := h.channels[uri]
	if ch == nil || ch.isAsleep() {
		return false
	}
	ch.info.Session, ch.last = session, h.seq
	ch.window = window{floor: h.seq}
	kept := ch.subs[:0:0]
	for _, c := range ch.subs {
		if c.audience.Sees(ch.info) {
			kept = append(kept, c)
		} else {
			delete(c.subs, uri)
		}
	}
	ch.subs = kept
	h.add(Write{Close: uri}, 256)
	ch.pos = h.add(Write{Open: &OpenWrite{Info: ch.info, State: ch.state, Seq: h.seq}}, 1024)
	return true
}
