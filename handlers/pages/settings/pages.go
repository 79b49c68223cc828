// Package settings serves the settings of a browser, a person's notifications, and the help.
package settings

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// Pages are the settings of a browser and of a person's notifications, and the help.
type Pages struct {
	*site.Site
	secrets Secrets // nil: there are none
	nodes   bool    // this server is a node of a cluster
}

// New makes the settings' pages.
func New(s *site.Site, secrets Secrets, nodes bool) *Pages { return &Pages{s, secrets, nodes} }
