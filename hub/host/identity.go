package host

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// metaKey is the host's own key in `_meta`. What stands there comes from the host: a
// client's value is overwritten, every other key is kept as sent.
const metaKey = "ahphub"

// pagePrefix begins the clientId of a person's pages. Claims name a clientId alone, so
// no client of the endpoint may take such a name.
const pagePrefix = "page:"

// PageClient is the clientId that all pages of a person share.
func PageClient(principal string) string { return pagePrefix + principal }

// IsPageClient reports whether a clientId is one of those that pages use, which no client of the endpoint may take.
func IsPageClient(clientID string) bool {
	_, person := PageOwner(clientID)
	return person || strings.HasPrefix(clientID, FeedPrefix)
}

// FeedPrefix begins the clientIds under which pages that show the same follow channels together.
const FeedPrefix = "pages|"

// PageOwner returns whose pages a clientId stands for.
func PageOwner(clientID string) (principal string, ok bool) {
	return strings.CutPrefix(clientID, pagePrefix)
}

// contributorKey is where in a tool call's `_meta` the host writes whose client runs it.
const contributorKey = "ahphub.contributor"

func contributorIn(m ahp.Meta) (principal string) {
	_ = json.Unmarshal(m[contributorKey], &principal) // absent: nobody's
	return principal
}

func withContributor(m ahp.Meta, principal string) ahp.Meta {
	raw, err := json.Marshal(principal)
	if err != nil {
		return m // a string always encodes
	}
	m = cloneMeta(m)
	m[contributorKey] = raw
	return m
}

// Identity is who did something, taken from the authenticated principal and never from
// what a client says.
type Identity struct {
	ID   string      `json:"id"`
	Name string      `json:"name"`
	Role access.Role `json:"role,omitempty"`
}

// Stamp is the value of `_meta.ahphub`. Side and Hunk belong to annotation entries: which
// version of the file was commented on, and the lines quoted.
type Stamp struct {
	By   Identity  `json:"by"`
	At   time.Time `json:"at"`
	Side string    `json:"side,omitempty"` // "before" or "after"
	Hunk string    `json:"hunk,omitempty"` // at most 8 KiB

	// Client is whom to ask for the files that a message names and that lie with its sender.
	Client string `json:"client,omitempty"`

	Version ahp.URI `json:"version,omitempty"` // the content the lines were read in, so that they can be followed

	// Range belongs to threads: the lines they were written on. The host moves the thread's own along with its file.
	Range *ahp.TextRange `json:"range,omitempty"`
}

const (
	mostHunk    = 8 << 10
	mostVersion = 8 << 10
)

// ReadStamp returns what the host wrote into a `_meta`.
func ReadStamp(m ahp.Meta) (Stamp, bool) {
	var s Stamp
	raw, ok := m[metaKey]
	if !ok || json.Unmarshal(raw, &s) != nil || s.By.ID == "" {
		return Stamp{}, false
	}
	return s, true
}

// write returns a copy of m with the stamp in it.
func (s Stamp) write(m ahp.Meta) ahp.Meta {
	raw, err := json.Marshal(s)
	if err != nil {
		return m // a year beyond 9999: no clock says so
	}
	m = maps.Clone(m)
	if m == nil {
		m = ahp.Meta{}
	}
	m[metaKey] = raw
	return m
}

// Who is the caller as the host writes it down.
func (c Caller) Who() Identity {
	return Identity{ID: c.ID, Name: c.Name, Role: c.Role}
}

func (c Caller) stamp(now time.Time) Stamp { return Stamp{By: c.Who(), At: now.UTC()} }

func (c Caller) owner() bool { return c.Role == access.RoleOwner }

// hunkOf reads what a client quoted; everything else it says about itself is ignored.
func hunkOf(m ahp.Meta) (side, hunk string, version ahp.URI) {
	var s struct {
		Side, Hunk string
		Version    ahp.URI
	}
	if json.Unmarshal(m[metaKey], &s) != nil {
		return "", "", ""
	}
	if !strings.HasPrefix(s.Version, blobScheme) || len(s.Version) > mostVersion {
		s.Version = ""
	}
	if s.Side != "before" && s.Side != "after" {
		s.Side = ""
	}
	return s.Side, texts.CutBytes(s.Hunk, mostHunk), s.Version
}
