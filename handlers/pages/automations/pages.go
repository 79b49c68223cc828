// Package automations serves the pages of automations: the list, one automation with its runs, and its form.
package automations

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Pages are the pages, forms and rooms of automations.
type Pages struct {
	*site.Site
	Host        Host
	Automations Automations
}

// New returns the pages of automations.
func New(s *site.Site, h Host, a Automations) *Pages { return &Pages{s, h, a} }

// Host is the part of the host that these pages use.
type Host interface {
	site.Host
	CheckTemplate(ctx context.Context, t ahp.AutomationSessionTemplate) error
	ResolveSessionConfig(c core.Caller, p ahp.ResolveSessionConfigParams) (ahp.ResolveSessionConfigResult, error)
	Summaries(c core.Caller) []ahp.SessionSummary
}

// Automations are the host's automations.
type Automations interface {
	Capabilities(c core.Caller) *ahp.AutomationCapabilities
	List(c core.Caller) []ahp.AutomationEntry
	ListRuns(c core.Caller, uri ahp.URI) []ahp.AutomationRunSummary
	Run(ctx context.Context, c core.Caller, params ahp.RunAutomationParams) (ahp.RunAutomationResult, error)
}
