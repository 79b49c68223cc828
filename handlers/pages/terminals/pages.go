// Package terminals serves the pages of terminals: tabs, frames and their streams, commands, and who has control.
package terminals

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	hostterminals "github.com/ahphub/ahphub/hub/host/terminals"
	"github.com/ahphub/ahphub/hub/machine"
)

// Pages are the pages, forms, streams and rooms of terminals.
type Pages struct {
	*site.Site
	Host Host

	logins map[string]string // commands that log in to agents, by provider
}

// New returns the pages of terminals. logins are commands that log in to agents, by provider.
func New(s *site.Site, h Host, logins map[string]string) *Pages { return &Pages{s, h, logins} }

// Host is the host's part for terminals.
type Host interface {
	AddViewer(uri ahp.URI) machine.TerminalViewer
	Ask(c core.Caller, uri ahp.URI) error
	Asks(uri ahp.URI) []hostterminals.Ask
	Attend(c core.Caller, uri ahp.URI) (leave func(goodbye bool))
	Changes(uri ahp.URI) (changed <-chan struct{}, cancel func())
	Clear(c core.Caller, uri ahp.URI) error
	CommandOutput(ctx context.Context, uri ahp.URI, id string) (out machine.CommandOutput, ok bool)
	Commands(uri ahp.URI) []machine.TerminalCommand
	Create(ctx context.Context, c core.Caller, params ahp.CreateTerminalParams) error
	Deny(c core.Caller, uri ahp.URI, client string) error
	Dispose(ctx context.Context, c core.Caller, params ahp.DisposeTerminalParams) error
	Grant(c core.Caller, uri ahp.URI, client string) error
	IsUnconfined(uri ahp.URI) bool
	Release(c core.Caller, uri ahp.URI, chat ahp.URI) error
	Rename(c core.Caller, uri ahp.URI, title string) error
	ScreenText(ctx context.Context, uri ahp.URI, printed string) string
	Shells() []string
	Take(c core.Caller, uri ahp.URI) error
	Withdraw(c core.Caller, uri ahp.URI) error
}
