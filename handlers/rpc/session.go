package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Sessions lists, creates and disposes of sessions.
type Sessions interface {
	ListSessions(ctx context.Context, c core.Caller, p ahp.ListSessionsParams) (ahp.ListSessionsResult, error)
	CreateSession(ctx context.Context, c core.Caller, p ahp.CreateSessionParams) error
	DisposeSession(ctx context.Context, c core.Caller, p ahp.DisposeSessionParams) error
	ProviderOf(session ahp.URI) string // "" for an unknown session
	Providers() []string
	ResolveSessionConfig(c core.Caller, p ahp.ResolveSessionConfigParams) (ahp.ResolveSessionConfigResult, error)
}

func resolveSessionConfig(h Host, _ context.Context, c core.Caller,
	p ahp.ResolveSessionConfigParams) (ahp.ResolveSessionConfigResult, error) {
	return h.ResolveSessionConfig(c, p)
}
