package rpc

import (
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
)

const changesetScheme = "ahp-changeset:/"

// changesetNamed returns the changeset that a client names as <session>/changeset/<kind>…, instead
// of by the session's catalogue.
func (s *socket) changesetNamed(uri ahp.URI) (ours ahp.URI, ok bool) {
	session, rest, below := strings.Cut(uri, "/changeset/")
	if !below || strings.ContainsAny(uri, `"\`) {
		return "", false
	}
	if session, ok = s.resolve(session); !ok {
		return "", false
	}
	return changes.URIBelow(session, rest)
}

// learnBelow records the client's name of a changeset while the client follows it.
func (n *spelling) learnBelow(theirs, ours ahp.URI) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.below == nil {
		n.below = map[ahp.URI]ahp.URI{}
	}
	if _, known := n.below[ours]; known || len(n.below) < maxBelow {
		n.below[ours] = theirs
	}
}

// maxBelow bounds the renamed changesets of a connection.
const maxBelow = 1024

func (n *spelling) forgetBelow(ours ahp.URI) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.below, ours)
}

// belowSessions returns a frame with the client's names of changesets.
func (n *spelling) belowSessions(frame []byte) []byte {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if len(n.below) == 0 {
		return frame
	}
	return rewriteURIs(frame, changesetScheme, func(uri ahp.URI) ahp.URI {
		if theirs, ok := n.below[uri]; ok {
			return theirs
		}
		return uri
	})
}
