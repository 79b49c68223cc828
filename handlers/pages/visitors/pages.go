// Package visitors shows who is viewing a session, and where in it.
package visitors

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Changes locates readers in a session's changes.
type Changes interface {
	// Locate returns the changeset of a scope and the address of its page.
	Locate(ctx context.Context, v site.Visit, scope string) (changeset ahp.URI, href string, err error)
	// PathOf returns the path of a file of a changeset by its key; "" when there is none.
	PathOf(session, changeset ahp.URI, key string) string
}

// Terminals finds the terminals that readers view.
type Terminals interface {
	// Find returns a terminal of a session by the end of its URI.
	Find(v site.Visit, id string) (ahp.URI, error)
	// Title returns a terminal's title.
	Title(session, terminal ahp.URI) string
}

// Pages show who is viewing a session, and where.
type Pages struct {
	*site.Site
	changes   Changes
	terminals Terminals
}

// New returns the room of viewers.
func New(s *site.Site, changes Changes, terminals Terminals) *Pages {
	return &Pages{s, changes, terminals}
}
