// Package settings serves a browser's settings, a person's notifications and secrets, and the help.
package settings

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// Pages are the settings of a browser, notifications, secrets, and the help.
type Pages struct {
	*site.Site
	secrets Secrets // nil: there are none
	nodes   bool    // whether this server is a node of a cluster
}

// New returns the settings pages.
func New(s *site.Site, secrets Secrets, nodes bool) *Pages { return &Pages{s, secrets, nodes} }
