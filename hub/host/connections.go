package host

import (
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Callbacks of the endpoint about its connections.

// Unsubscribed handles the end of a client's subscription.
func (h *Host) Unsubscribed(c core.Caller, uri ahp.URI) {
	h.clients.Unsubscribed(c.Ref(), uri)
	h.provisional.unsubscribed(uri, c.Ref())
	h.Files.LeaveWatches(c.Ref(), uri)
}

// Disconnected handles the end of a client's connection if no newer one replaced it.
func (h *Host) Disconnected(c core.Caller) {
	h.clients.Disconnected(c.Ref())
	h.Files.LeaveWatches(c.Ref())
	h.Terminals.Disconnected(c.ClientID)
}

// Reconnected handles a client's reconnection, with the channels it resubscribed to.
func (h *Host) Reconnected(c core.Caller, uris []ahp.URI) { h.clients.Reconnected(c.Ref(), uris) }

// Evicted handles another principal's use of a clientId. It removes the old client's registrations
// before the new client connects, so that the new one cannot run the old one's tools or type in its
// terminals.
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
