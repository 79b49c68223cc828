package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Completions completes text while the user types.
type Completions interface {
	Completions(ctx context.Context, c core.Caller, p ahp.CompletionsParams) (ahp.CompletionsResult, error)
	SessionConfigCompletions(ctx context.Context, c core.Caller,
		p ahp.SessionConfigCompletionsParams) (ahp.SessionConfigCompletionsResult, error)
}

// Authenticator accepts tokens for agents.
type Authenticator interface {
	Authenticate(ctx context.Context, c core.Caller, p ahp.AuthenticateParams) (ahp.AuthenticateResult, error)
}
