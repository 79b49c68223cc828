package core

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// MetaKey is the host's own key in `_meta`. The host overwrites clients' values of it and keeps all
// other keys unchanged.
const MetaKey = "ahphub"

// pagePrefix begins the clientId of a principal's pages. It is reserved because claims name only a
// clientId.
const pagePrefix = "page:"

// PageClient returns the clientId that all pages of a principal share.
func PageClient(principal string) string { return pagePrefix + principal }

// IsPageClient reports whether a clientId is reserved for pages. Clients of the endpoint may not
// use it.
func IsPageClient(clientID string) bool {
	_, person := PageOwner(clientID)
	return person || strings.HasPrefix(clientID, FeedPrefix)
}

// FeedPrefix begins the clientIds of feeds, which pages with the same content share.
const FeedPrefix = "pages|"

// PageOwner returns the principal whose pages use a clientId.
func PageOwner(clientID string) (principal string, ok bool) {
	return strings.CutPrefix(clientID, pagePrefix)
}

// ContributorKey is the key in a tool call's `_meta` for the principal whose client runs the call.
const ContributorKey = "ahphub.contributor"

// Contributor returns the principal whose client runs a tool call, or "".
func Contributor(m ahp.Meta) (principal string) {
	_ = json.Unmarshal(m[ContributorKey], &principal) // absent: ""
	return principal
}

// WithContributor returns a copy of m that names the principal whose client runs a tool call.
func WithContributor(m ahp.Meta, principal string) ahp.Meta {
	raw, err := json.Marshal(principal)
	if err != nil {
		return m // a string always encodes
	}
	m = CloneMeta(m)
	m[ContributorKey] = raw
	return m
}

// Identity names the principal of an action. It comes from authentication, never from a client's
// payload.
type Identity struct {
	ID   string      `json:"id"`
	Name string      `json:"name"`
	Role access.Role `json:"role,omitempty"`
}

// Stamp is the value of `_meta.ahphub`. Side and Hunk belong to annotation entries: the commented
// version of the file and the quoted lines.
type Stamp struct {
	By   Identity  `json:"by"`
	At   time.Time `json:"at"`
	Side string    `json:"side,omitempty"` // "before" or "after"
	Hunk string    `json:"hunk,omitempty"` // at most 8 KiB

	// Client is the clientId whose files the message refers to.
	Client string `json:"client,omitempty"`

	Version ahp.URI `json:"version,omitempty"` // the content that contained the lines, to follow them through edits

	// Range belongs to threads: their original lines. The host moves the thread's own range with
	// edits of the file.
	Range *ahp.TextRange `json:"range,omitempty"`
}

// ReadStamp returns the stamp in a `_meta`.
func ReadStamp(m ahp.Meta) (Stamp, bool) {
	var s Stamp
	raw, ok := m[MetaKey]
	if !ok || json.Unmarshal(raw, &s) != nil || s.By.ID == "" {
		return Stamp{}, false
	}
	return s, true
}

// KeepStamp returns sent with the value of the host's own key in old.
func KeepStamp(old, sent ahp.Meta) ahp.Meta {
	had, stamped := old[MetaKey]
	if _, forged := sent[MetaKey]; !stamped && !forged {
		return sent
	}
	m := CloneMeta(sent)
	delete(m, MetaKey)
	if stamped {
		m[MetaKey] = had
	}
	return m
}

// Write returns a copy of m with the stamp in it.
func (s Stamp) Write(m ahp.Meta) ahp.Meta {
	raw, err := json.Marshal(s)
	if err != nil {
		return m // a year beyond 9999, which no clock reports
	}
	m = maps.Clone(m)
	if m == nil {
		m = ahp.Meta{}
	}
	m[MetaKey] = raw
	return m
}

// Who returns the caller's identity.
func (c Caller) Who() Identity {
	return Identity{ID: c.ID, Name: c.Name, Role: c.Role}
}

// Stamp returns the caller and a time, for `_meta`.
func (c Caller) Stamp(now time.Time) Stamp { return Stamp{By: c.Who(), At: now.UTC()} }

// IsOwner reports whether the caller is the owner.
func (c Caller) IsOwner() bool { return c.Role == access.RoleOwner }

// Caller is the authenticated principal of a request and the client that sent it. Conn is nil for
// an HTML form.
type Caller struct {
	access.Principal
	ClientID string
	Conn     *hub.Conn
}

// ClientRef identifies a client of a principal. The protocol identifies clients by id only, which
// two principals may share.
type ClientRef struct{ Principal, ID string }

// Ref returns the caller's client.
func (c Caller) Ref() ClientRef { return ClientRef{c.ID, c.ClientID} }
