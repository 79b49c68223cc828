package host

import (
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Notifications of the root channel (AHP requirements 54 to 56).

func (h *Host) notifyAdded(tx *hub.Tx, s ahp.SessionSummary) {
	tx.Notify(core.SessionInfo(s.Resource), ahp.RootURI, "root/sessionAdded",
		ahp.SessionAddedParams{Channel: ahp.RootURI, Summary: s})
	h.countSessions(tx)
}

func (h *Host) notifyRemoved(tx *hub.Tx, session ahp.URI) {
	tx.Notify(core.SessionInfo(session), ahp.RootURI, "root/sessionRemoved",
		ahp.SessionRemovedParams{Channel: ahp.RootURI, Session: session})
	h.countSessions(tx)
}

func (h *Host) notifyChanged(tx *hub.Tx, session ahp.URI, changes ahp.PartialSessionSummary) {
	tx.Notify(core.SessionInfo(session), ahp.RootURI, "root/sessionSummaryChanged",
		ahp.SessionSummaryChangedParams{Channel: ahp.RootURI, Session: session, Changes: changes})
}

// countSessions keeps root.activeSessions (AHP requirement 60).
func (h *Host) countSessions(tx *hub.Tx) {
	tx.Apply(ahp.RootURI, &ahp.RootActiveSessionsChangedAction{ActiveSessions: int64(h.core.Catalogue.Count(false))})
}
