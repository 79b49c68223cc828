package chat

import (
	"net/http"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/page"
)

// Terminals are what a chat shows of its session's terminals.
type Terminals interface {
	// Lines lists them.
	Lines(site.Visit) []page.TerminalLine
	// Quote adds the command that a request names to a draft.
	Quote(r *http.Request, v site.Visit, draft string) (string, error)
}

// Threads are what a chat shows of its session's review.
type Threads interface {
	Lines(r *http.Request, v site.Visit, s *ahp.SessionState) []page.ThreadLine
}

// chatPages are the pages, forms and room of conversations.
type Pages struct {
	*site.Site
	terminals Terminals
	threads   Threads
}

// newChat makes the pages of chats.
func New(s *site.Site, terminals Terminals, threads Threads) *Pages {
	return &Pages{s, terminals, threads}
}
