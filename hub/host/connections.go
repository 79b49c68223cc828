package host

import (
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// What the endpoint reports of its connections.

// Unsubscribed tells the host that a client no longer follows a channel.
func (h *Host) Unsubscribed(c core.Caller, uri ahp.URI) {
	h.clients.Unsubscribed(c.Ref(), uri)
	h.provisional.unsubscribed(uri, c.Ref())
	h.Files.LeaveWatches(c.Ref(), uri)
}

// Disconnected tells the host that a client's connection ended and no newer one took its place.
func (h *Host) Disconnected(c core.Caller) {
	h.clients.Disconnected(c.Ref())
	h.Files.LeaveWatches(c.Ref())
	h.Terminals.Disconnected(c.ClientID)
}

// Reconnected tells the host which channels a client follows again.
func (h *Host) Reconnected(c core.Caller, uris []ahp.URI) { h.clients.Reconnected(c.Ref(), uris) }

// Evicted tells the host that another principal takes a client's id. Whatever the id stands for ends before the
// new client is let in: it neither runs the tools of the old one nor types in its terminals.
func (h *Host) Evicted(principal, clientID string) {
	err := h.core.Hub.Do(func(tx *hub.Tx) {
		h.clients.Evict(tx, core.ClientRef{Principal: principal, ID: clientID})
		h.Terminals.Evict(tx, clientID)
	})
	if err != nil {
		h.core.Log.Warn("a client whose id another takes is still listed", "client", clientID, "of", principal, "err",
			err)
	}
}
