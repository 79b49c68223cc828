package automations

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// automationsPages are the pages, forms and rooms of automations.
type Pages struct{ *site.Site }

// newAutomations makes the pages of automations.
func New(s *site.Site) *Pages { return &Pages{s} }
