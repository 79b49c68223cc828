// Package customs serves the page of a session's customizations: rules, skills, MCP servers, plugins.
package customs

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/customs"
)

// Pages are the page, forms and room of a session's customizations.
type Pages struct {
	*site.Site
	Host    Host
	Customs Customs
}

// New returns the pages of customizations.
func New(s *site.Site, h Host, c Customs) *Pages { return &Pages{s, h, c} }

// Host is the part of the host that these pages use.
type Host interface {
	site.Host
	UsesServers(provider string) bool
}

// Customs is the host's part for customizations and MCP servers.
type Customs interface {
	DistrustServer(ctx context.Context, c core.Caller, session ahp.URI, id string) error
	HasMore(session ahp.URI) bool
	Home() string
	ListDecisions(session ahp.URI, s *ahp.SessionState) map[string]customs.Decisions
	ReadText(ctx context.Context, c core.Caller, session ahp.URI, id string) (customs.Text, error)
	RefreshNow(ctx context.Context, session ahp.URI)
	ServerDetails(owner bool, session ahp.URI) map[string]customs.ServerDetail
	TrustServer(ctx context.Context, c core.Caller, session ahp.URI, id string, digest string) error
}
