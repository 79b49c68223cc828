// Package chat serves conversations: a chat with its turns and composer, the forms that prompt and answer, and new
// sessions.
package chat

import (
	"context"
	"net/http"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/templ/page"
)

// Terminals is the part of the session's terminals that chats use.
type Terminals interface {
	// Quote adds the command named by a request to a draft.
	Quote(r *http.Request, v site.Visit, draft string) (string, error)
}

// Pages are the pages, forms and room of conversations.
type Pages struct {
	*site.Site
	Host      Host
	terminals Terminals
	first     page.FirstAgent        // how to get an agent besides Shell
	machines  *machines.Registry     // nil: machines are turned off
	load      func() machines.Report // this server's free resources; nil: unknown

	needsLogin func(provider string) bool // whether an agent of this server last asked for a login; nil: none did
}

// New returns the pages of chats.
func New(s *site.Site, h Host, terminals Terminals, first page.FirstAgent, m *machines.Registry,
	load func() machines.Report, needsLogin func(provider string) bool,
) *Pages {
	return &Pages{Site: s, Host: h, terminals: terminals, first: first, machines: m, load: load, needsLogin: needsLogin}
}

// Host is the part of the host that these pages use.
type Host interface {
	site.Host
	AgentLog(chat ahp.URI) []string
	AgentIcon(provider string) string
	Completions(ctx context.Context, c core.Caller, p ahp.CompletionsParams) (ahp.CompletionsResult, error)
	CreateChat(ctx context.Context, c core.Caller, p ahp.CreateChatParams) error
	CreateSession(ctx context.Context, c core.Caller, p ahp.CreateSessionParams) error
	IsOffline(chat ahp.URI) bool
	MoveToBackground(c core.Caller, chat ahp.URI) error
	ResolveSessionConfig(c core.Caller, p ahp.ResolveSessionConfigParams) (ahp.ResolveSessionConfigResult, error)
	RetrySession(ctx context.Context, c core.Caller, session ahp.URI) error
	SessionConfigCompletions(ctx context.Context, c core.Caller, p ahp.SessionConfigCompletionsParams) (
		ahp.SessionConfigCompletionsResult, error)
	Steers(chat ahp.URI) bool
	Summaries(c core.Caller) []ahp.SessionSummary
}
