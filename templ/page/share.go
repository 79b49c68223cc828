package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Share is the page of a session's links and their guests.
type Share struct {
	Base    string
	New     string // address of the new link; shown once
	Code    *Code  // QR code of the address; nil if it cannot be drawn
	Local   bool   // only this machine can reach the address
	Address string
	Error   string
	Links   []ShareLink
	Now     time.Time
	Parts   []SharePart // parts of the session that a link can share
	Part    string      // the chosen part; "" is the whole session
	From    string      // the part whose Share button was pressed; offered first

	AllFiles bool // chosen: see ShareLink
	Wide     bool // the session works in the home directory or above
}

// OtherPart is the choice of a part named by a second field.
const OtherPart = "other"

// SharePart is a chat or a changeset of a session.
type SharePart struct{ Value, Label, Group string }

// only describes a link to this part only.
func (p SharePart) only() string {
	if strings.HasPrefix(p.Value, "chat:") {
		return "Only the chat “" + p.Label + "”"
	}
	return "Only these changes: " + p.Label
}

// another returns the label for choosing another part.
func (v *Share) another() string {
	if v.From == "" {
		return "Part of the session"
	}
	return "Another part"
}

// others returns the parts that are not offered directly, grouped by heading, in order.
func (v *Share) others() (out [][]SharePart) {
	for _, p := range v.Parts {
		n := len(out)
		switch {
		case p.Value == v.From:
		case n > 0 && out[n-1][0].Group == p.Group:
			out[n-1] = append(out[n-1], p)
		default:
			out = append(out, []SharePart{p})
		}
	}
	return out
}

// ShareLink is a link as the owner sees it. Its token is not stored, so the address cannot be shown again.
type ShareLink struct {
	ID     string
	Role   string
	Label  string
	Part   string // the shared part of the session; "" is the whole
	SignIn bool   // guests must sign in first

	AllFiles bool // also files that are neither tracked by git nor changed by the session
	Created  time.Time
	Expires  time.Time
	Ended    string // "Revoked" or "Expired"
	MaxUses  int    // most people and clients it admits; 0: any number
	Revoke   string // target of the form that revokes it
	In       string // title of its session, in a list of several; "" on the session's page
	Href     string // that session's page
	People   []SharePerson

	Prompt, Approve, Type, Guests bool // a driver's permissions
}

// SharePerson is a guest of a link: a person or an AHP client.
type SharePerson struct {
	ID     string // of the principal
	Name   string
	Client bool
	At     time.Time
}

// Code is a QR code: a square of modules, drawn as one path.
type Code struct {
	Size int
	Path string // of an SVG, one unit per module
}

func (c *Code) box() string { return "-4 -4 " + strconv.Itoa(c.Size+8) + " " + strconv.Itoa(c.Size+8) }

func (l *ShareLink) used() string {
	if l.MaxUses == 0 {
		return ""
	}
	return strconv.Itoa(len(l.People)) + " of " + strconv.Itoa(l.MaxUses) + " joined"
}

func (l *ShareLink) role() string {
	switch l.Role {
	case "driver":
		return "Driver"
	case "commenter":
		return "Commenter"
	}
	return "Viewer"
}

func (l *ShareLink) may() string {
	switch l.Role {
	case "driver":
		return "comments, " + strings.Join(l.drives(), ", ")
	case "commenter":
		return "comments, marks files as reviewed"
	}
	return "read only"
}

// drives describes the permissions of a driver's link.
func (l *ShareLink) drives() (out []string) {
	if l.Prompt {
		out = append(out, "prompts")
	}
	switch {
	case l.Guests:
		out = append(out, "approves anyone's requests")
	case l.Approve:
		out = append(out, "approves your requests")
	}
	if l.Type {
		out = append(out, "types in terminals")
	}
	return out
}

func (l *ShareLink) until(now time.Time) string {
	switch {
	case l.Ended != "":
		return l.Ended
	case l.Expires.IsZero():
		return "Never expires"
	case l.Expires.Sub(now) < 48*time.Hour:
		return "Expires " + l.Expires.UTC().Format("2 Jan 15:04") + " UTC"
	}
	return "Expires " + l.Expires.UTC().Format("2 January 2006")
}

func initialOf(name string) string { return part.Person{Name: name}.Initials() }
