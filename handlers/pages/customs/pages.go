package customs

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// customsPages are the page, forms and room of what a session's agent is customized with.
type Pages struct{ *site.Site }

// newCustoms makes the customizations' pages.
func New(s *site.Site) *Pages { return &Pages{s} }
