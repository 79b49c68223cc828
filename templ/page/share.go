package page

import (
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Share is the page of a session's links and the people who came by them.
type Share struct {
	Base    string
	New     string // address of the link that was just made; shown once
	Local   bool   // only this machine reaches the address
	Address string
	Error   string
	Links   []ShareLink
	Now     time.Time
}

// ShareLink is a link as the owner sees it. Its token is not kept, so the address cannot be shown again.
type ShareLink struct {
	ID      string
	Role    string
	Label   string
	Created time.Time
	Expires time.Time
	Ended   string // "Revoked" or "Expired"
	People  []SharePerson
}

// SharePerson is somebody who came by a link.
type SharePerson struct {
	Name string
	At   time.Time
}

func (l *ShareLink) role() string {
	if l.Role == "commenter" {
		return "Commenter"
	}
	return "Viewer"
}

func (l *ShareLink) may() string {
	if l.Role == "commenter" {
		return "reads, comments, marks files reviewed"
	}
	return "reads only"
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
