package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// People is the page about access: members, signed-in browsers, and the links of all sessions.
type People struct {
	Frame    part.Frame
	Now      time.Time
	Browsers []Browser
	Links    []ShareLink
	Files    []FileGrant

	Invites bool // invitations are enabled
	Members []Member
	New     string // address of the new invitation; shown once
	Local   bool   // only this machine can reach it
	Error   string
}

// Member is an account, or an open invitation.
type Member struct {
	ID, Name, For, Role           string
	May                           string // permissions in words
	Prompt, Approve, Guests, Type bool
	Made, Joined, Expires         time.Time
	Expired                       bool // the invitation expired
}

func (m *Member) called() string {
	switch {
	case m.Name != "":
		return m.Name
	case m.For != "":
		return m.For
	}
	return "Invited member"
}

func (m *Member) since() string {
	switch {
	case m.Expired:
		return "Invite expired"
	case m.Name == "":
		return "Invited · expires " + when(m.Expires) + " UTC"
	}
	return "Joined " + when(m.Joined) + " UTC"
}

func (m *Member) base() string { return "/people/members/" + url.PathEscape(m.ID) }

// memberRoles are the roles of members, with descriptions.
var memberRoles = []struct{ role, name, may string }{
	{"member", "Member", "only sessions shared with them"},
	{"viewer", "Viewer", "sees every session"},
	{"commenter", "Commenter", "sees every session and comments"},
	{"driver", "Driver", "comments, plus the permissions below"},
}

func roleName(role string) string {
	for _, r := range memberRoles {
		if r.role == role {
			return r.name
		}
	}
	return role
}

// Browser is a signed-in browser.
type Browser struct {
	Key         string
	Name        string // of a guest or member; "" for the owner
	Owner, This bool
	Guest       bool // came by a link
	Agent       string
	Since, Seen time.Time
}

func (b *Browser) who() string {
	if b.Owner {
		return "You"
	}
	return b.Name
}

// kind returns a browser's display name, from its user agent.
func (b *Browser) kind() string {
	name, system := "", ""
	for _, k := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"},
		{"Safari/", "Safari"}} {
		if name == "" && strings.Contains(b.Agent, k[0]) {
			name = k[1]
		}
	}
	for _, k := range [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"},
		{"Windows", "Windows"}, {"Mac OS", "Mac"}, {"Linux", "Linux"}} {
		if system == "" && strings.Contains(b.Agent, k[0]) {
			system = k[1]
		}
	}
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case name+system != "":
		return name + system
	}
	return "Unknown browser"
}

func (m *People) others() bool {
	for _, b := range m.Browsers {
		if b.Owner && !b.This {
			return true
		}
	}
	return false
}

// Audit is a page of the audit, newest first.
type Audit struct {
	Frame       part.Frame
	What, Query string // the filter
	Kinds       []string
	Events      []AuditEvent
	Export      string
	Older       string // address of the next page; "" on the last
	Newest      string // address of the first page; "" on it
}

// AuditEvent is one entry.
type AuditEvent struct {
	At                        time.Time
	Who, Name, What, On, From string
	Outcome                   string // unless it succeeded
	Mark                      string // "bad" or "warn" for outcomes that need attention; "" otherwise
}

func (e *AuditEvent) who() string {
	switch {
	case e.Name != "":
		return e.Name
	case e.Who != "":
		return e.Who
	}
	return "Someone"
}
