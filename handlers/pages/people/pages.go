// Package people serves the pages of who can come in: links, members, signed-in browsers, one's own account, the audit.
package people

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Changes are the sets of changes of a session that a link can be for.
type Changes interface {
	// OfferedScopes lists the scopes of changesets that a session offers.
	OfferedScopes(*ahp.SessionState) []string
	// FindChangeset returns the changeset of a scope, if the visitor may see it.
	FindChangeset(ctx context.Context, v site.Visit, scope string) (ahp.URI, error)
}

// Config is what knows people.
type Config struct {
	Browsers Browsers // who is signed in; nil shows none
	Accounts Accounts // the owner's ways to sign in; its zero value shows none
	Audit    AuditLog // what was done; nil shows none
	Changes  Changes
}

// Pages are the pages and forms of who can come in: links, members, browsers, one's own account, and the audit.
type Pages struct {
	*site.Site
	Host Host
	Config
}

// New makes the people's pages.
func New(s *site.Site, h Host, cfg Config) *Pages { return &Pages{s, h, cfg} }

// Host is what the pages of this area ask of the host.
type Host interface {
	site.Host
	Keep(session ahp.URI) error
}
