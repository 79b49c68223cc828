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

// Notice is one thing that happened, as it is kept and told. Its texts are single lines without secrets.
type Notice struct {
	ID      string          `json:"id"` // the same for the same cause, however often it is seen
	Kind    Kind            `json:"kind"`
	At      time.Time       `json:"at"`
	About   hub.ChannelInfo `json:"about"` // who does not see this channel is not told
	Short   string          `json:"short"` // of the session, as in addresses
	Session string          `json:"session"`
	Title   string          `json:"title"`
	Text    string          `json:"text,omitempty"`
	Path    string          `json:"path"`             // on this host
	Waits   string          `json:"waits,omitempty"`  // what of the session's inputNeeded it is about
	Guest   bool            `json:"guest,omitempty"`  // an approval of what another than the owner asked for
	Thread  string          `json:"thread,omitempty"` // what it was written in
	Brief   bool            `json:"brief,omitempty"`  // over before a mail would be read: none is sent
	By      review.Person   `json:"by,omitzero"`
	To      []string        `json:"to,omitempty"` // principals; never the one who caused it
}

// id names a cause for good.
func id(kind Kind, cause string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + cause))
	return hex.EncodeToString(sum[:12])
}

// uri is the session the notice is about.
func (n *Notice) uri() ahp.URI {
	if n.About.Session == "" {
		return n.About.URI
	}
	return n.About.Session
}

// For is the notice as somebody is told it, if they are at all: they are concerned, they see what it is about, and they
// could answer. Who sees a part of a session is not told the title of the whole.
func (n Notice) For(p access.Principal) (Notice, bool) {
	if !slices.Contains(n.To, p.ID) || !n.seenBy(p) {
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

func (n *Notice) seenBy(p access.Principal) bool {
	sees := p.Audience()
	switch {
	case !sees.Sees(n.About):
		return false
	case n.Thread != "": // whoever would get an action on the thread
		return sees.Action(n.About, &ahp.AnnotationsUpdatedAction{AnnotationID: n.Thread}) != nil
	}
	return p.Scope.IsWhole() || n.About.Kind == ahp.ChannelChat
}

const mostSeen = 4096 // causes remembered, so that none is told twice

// seen are the newest causes; the hub's lock guards it.
type seen struct {
	ids  map[string]bool
	ring []string
}

// first is true once for each id.
func (s *seen) first(id string) bool {
	if s.ids[id] {
		return false
	}
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	if len(s.ring) == mostSeen {
		delete(s.ids, s.ring[0])
		s.ring = s.ring[1:]
	}
	s.ids[id], s.ring = true, append(s.ring, id)
	return true
}

// Heading is the notice in a line: what happened, and where.
func (n *Notice) Heading() string { return n.Title + " · " + n.Session }
