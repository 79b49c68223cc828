package inbox

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
)

// inboxPages are the first page: sessions by what they need, requests for files, and deleted sessions.
type Pages struct{ *site.Site }

// newInbox makes the inbox's pages.
func New(s *site.Site) *Pages { return &Pages{s} }
