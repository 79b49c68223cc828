// Package people serves the pages about access: links, members, signed-in browsers, the visitor's account, the audit.
package people

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Changes finds changesets of a session that can be shared by link.
type Changes interface {
	// OfferedScopes lists the scopes of changesets that a session offers.
	OfferedScopes(*ahp.SessionState) []string
	// FindChangeset returns the changeset of a scope, if the visitor may see it.
	FindChangeset(ctx context.Context, v site.Visit, scope string) (ahp.URI, error)
}

// Config configures the pages.
type Config struct {
	Browsers Browsers // signed-in browsers; nil: none are shown
	Accounts Accounts // ways to sign in; zero: none are shown
	Audit    AuditLog // nil: the audit is not shown
	Changes  Changes
}

// Pages are the pages and forms about access: links, members, browsers, the visitor's account, and the audit.
type Pages struct {
	*site.Site
	Host Host
	Config
}

// New returns the pages about access.
func New(s *site.Site, h Host, cfg Config) *Pages { return &Pages{s, h, cfg} }

// Host is the part of the host that these pages use.
type Host interface {
	site.Host
	Keep(session ahp.URI) error
}
