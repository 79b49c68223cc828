package host

import (
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// notices announces sessions on the root channel (AHP requirements 54 to 56).
type notices struct{ core *core.Core }

func (n notices) notifyAdded(tx *hub.Tx, s ahp.SessionSummary) {
	tx.Notify(core.SessionInfo(s.Resource), ahp.RootURI, "root/sessionAdded",
		ahp.SessionAddedParams{Channel: ahp.RootURI, Summary: s})
	n.countSessions(tx)
}

func (n notices) notifyRemoved(tx *hub.Tx, session ahp.URI) {
	tx.Notify(core.SessionInfo(session), ahp.RootURI, "root/sessionRemoved",
		ahp.SessionRemovedParams{Channel: ahp.RootURI, Session: session})
	n.countSessions(tx)
}

func (n notices) notifyChanged(tx *hub.Tx, session ahp.URI, changes ahp.PartialSessionSummary) {
	tx.Notify(core.SessionInfo(session), ahp.RootURI, "root/sessionSummaryChanged",
		ahp.SessionSummaryChangedParams{Channel: ahp.RootURI, Session: session, Changes: changes})
}

// countSessions updates root.activeSessions (AHP requirement 60).
func (n notices) countSessions(tx *hub.Tx) {
	tx.Apply(ahp.RootURI, &ahp.RootActiveSessionsChangedAction{ActiveSessions: int64(n.core.Catalogue.Count(false))})
}
