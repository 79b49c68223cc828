package page

import (
	"strings"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// People is who can come in: browsers that are signed in, and the links of every session.
type People struct {
	Frame    part.Frame
	Now      time.Time
	Browsers []Browser
	Links    []ShareLink
}

// Browser is one that is signed in.
type Browser struct {
	Key         string
	Name        string // a guest's; "" for the owner
	Owner, This bool
	Agent       string
	Since, Seen time.Time
}

func (b *Browser) who() string {
	if b.Owner {
		return "You"
	}
	return b.Name
}

// kind is what people call a browser, from what it calls itself.
func (b *Browser) kind() string {
	name, system := "", ""
	for _, k := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if name == "" && strings.Contains(b.Agent, k[0]) {
			name = k[1]
		}
	}
	for _, k := range [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS", "Mac"}, {"Linux", "Linux"}} {
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

// Audit is what was done, newest first.
type Audit struct {
	Frame       part.Frame
	What, Query string // the filter
	Kinds       []string
	Events      []AuditEvent
	Export      string
	Older       string // address of the next page; "" on the last
	Left        int
}

// AuditEvent is one line of it.
type AuditEvent struct {
	At                        time.Time
	Who, Name, What, On, From string
}

func (e *AuditEvent) who() string {
	switch {
	case e.Name != "":
		return e.Name
	case e.Who != "":
		return e.Who
	}
	return "somebody"
}
