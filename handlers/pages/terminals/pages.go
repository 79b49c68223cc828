package terminals

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// terminalsPages are the pages, forms, streams and rooms of terminals.
type Pages struct{ *site.Site }

// newTerminals makes the terminals' pages.
func New(s *site.Site) *Pages { return &Pages{s} }
