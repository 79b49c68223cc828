package hub

import "github.com/ahphub/ahphub/hub/ahp"

// CountFollowers returns the number of connections that follow a channel.
func (h *Hub) CountFollowers(uri ahp.URI) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.channels[uri]; ch != nil {
		return len(ch.subs)
	}
	return 0
}

// OfSession lists the channels of a session, asleep or not, unordered.
func (h *Hub) OfSession(session ahp.URI) (uris []ahp.URI) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uri, ch := range h.channels {
		if ch.info.Session == session {
			uris = append(uris, uri)
		}
	}
	return uris
}

// OfKind lists the channels of a kind, asleep or not, unordered.
func (h *Hub) OfKind(kind ahp.ChannelKind) (uris []ahp.URI) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uri, ch := range h.channels {
		if ch.info.Kind == kind {
			uris = append(uris, uri)
		}
	}
	return uris
}
