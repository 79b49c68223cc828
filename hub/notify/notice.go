package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
)

// Notice is one event as it is stored and sent. Its texts are single lines without secrets.
type Notice struct {
	ID      string          `json:"id"` // the same for the same cause
	Kind    Kind            `json:"kind"`
	At      time.Time       `json:"at"`
	About   hub.ChannelInfo `json:"about"` // only people who see this channel are notified
	Short   string          `json:"short"` // short name of the session, as in addresses
	Session string          `json:"session"`
	Title   string          `json:"title"`
	Text    string          `json:"text,omitempty"`
	Path    string          `json:"path"`             // on this host
	Waits   string          `json:"waits,omitempty"`  // id of the session's pending input request
	Guest   bool            `json:"guest,omitempty"`  // approval of a prompt that the owner did not write
	Thread  string          `json:"thread,omitempty"` // the thread it was written in
	Brief   bool            `json:"brief,omitempty"`  // usually answered before a mail is read, so none is sent
	By      review.Person   `json:"by,omitzero"`
	To      []string        `json:"to,omitempty"` // principals, without the one who caused it
}

// id returns a stable id of a cause.
func id(kind Kind, cause string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + cause))
	return hex.EncodeToString(sum[:12])
}

// uri returns the session of the notice.
func (n *Notice) uri() ahp.URI {
	if n.About.Session == "" {
		return n.About.URI
	}
	return n.About.Session
}

// For returns the notice as a principal gets it; false when they do not: they must be concerned,
// see its subject and be able to answer. Principals who see a part of a session do not get the
// title of the whole.
func (n Notice) For(p access.Principal) (Notice, bool) {
	if !slices.Contains(n.To, p.ID) || !n.isSeenBy(p) {
		return n, false
	}
	if need, some := needs[n.Kind]; some && !p.Has(need) || n.Kind == Approval && !p.CanApprove(n.Guest) {
		return n, false
	}
	if !p.Scope.IsWhole() {
		n.Session = map[bool]string{true: "Chat", false: "Changes"}[p.Scope.IsChat()]
	}
	return n, true
}

func (n *Notice) isSeenBy(p access.Principal) bool {
	sees := p.Audience()
	switch {
	case !sees.Sees(n.About):
		return false
	case n.Thread != "": // principals who would get an action on the thread
		return sees.Action(n.About, &ahp.AnnotationsUpdatedAction{AnnotationID: n.Thread}) != nil
	}
	return p.Scope.IsWhole() || n.About.Kind == ahp.ChannelChat
}

const maxSeen = 4096 // causes remembered, so that none is notified twice

// seen holds the newest causes; the hub's lock guards it.
type seen struct {
	ids  map[string]bool
	ring []string
}

// isFirst reports whether an id is new, and records it.
func (s *seen) isFirst(id string) bool {
	if s.ids[id] {
		return false
	}
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	if len(s.ring) == maxSeen {
		delete(s.ids, s.ring[0])
		s.ring = s.ring[1:]
	}
	s.ids[id], s.ring = true, append(s.ring, id)
	return true
}

// Heading returns the notice as one line: what happened, and where.
func (n *Notice) Heading() string { return n.Title + " · " + n.Session }
