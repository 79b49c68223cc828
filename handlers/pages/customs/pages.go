package customs

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Pages are the page, forms and room of what a session's agent is customized with.
type Pages struct {
	*site.Site
	Host Host
}

// New makes the customizations' pages.
func New(s *site.Site, h Host) *Pages { return &Pages{s, h} }

// Host is what the pages of this area ask of the host.
type Host interface {
	site.Host
	CustomizationText(c core.Caller, session ahp.URI, id string) (host.CustomText, error)
	CustomizationsOver(session ahp.URI) bool
	Customized(ctx context.Context, session ahp.URI)
	DecidedOn(session ahp.URI, s *ahp.SessionState) map[string]host.Decided
	DistrustServer(ctx context.Context, c core.Caller, session ahp.URI, id string) error
	Home() string
	ServerDetails(owner bool, session ahp.URI) map[string]host.ServerDetail
	TrustServer(ctx context.Context, c core.Caller, session ahp.URI, id string, digest string) error
	UsesServers(provider string) bool
}
