// Package inbox serves the first page (sessions by what they need, requests for files) and deleted sessions.
package inbox

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/organize"
)

// Pages are the pages of the inbox: sessions by what they need, requests for files, and deleted sessions.
type Pages struct {
	*site.Site
	Host  Host
	Shelf *organize.Shelf
}

// New returns the pages of the inbox.
func New(s *site.Site, h Host, shelf *organize.Shelf) *Pages { return &Pages{s, h, shelf} }

// Host is the part of the host that these pages use.
type Host interface {
	site.Host
	DisposeSession(ctx context.Context, c core.Caller, p ahp.DisposeSessionParams) error
	SessionContext(session ahp.URI) (branch, by string)
	RestoreSession(ctx context.Context, c core.Caller, uri ahp.URI) error
	Trash(c core.Caller) []host.Disposed
	TrashLimit() int
}
