package host

import (
	"context"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Authenticate handles authenticate: the agent or MCP server that named the resource takes the
// token, and unknown resources are an error (AHP requirements 189 and 190). Tokens are kept only in
// memory, apply to the whole host, and are never logged.
func (h *Host) Authenticate(ctx context.Context, c core.Caller,
	p ahp.AuthenticateParams) (ahp.AuthenticateResult, error) {
	if err := c.MayCall("authenticate", core.RootInfo); err != nil {
		return ahp.AuthenticateResult{}, err
	}
	for _, b := range h.agents.All() {
		a, ok := b.(agent.Authenticator)
		if !ok {
			continue
		}
		if known, err := a.Authenticate(ctx, p.Resource, p.Token); err != nil {
			return ahp.AuthenticateResult{}, core.BadParams("token: %s", err)
		} else if known {
			return ahp.AuthenticateResult{}, nil
		}
	}
	if known, err := h.Customs.TakeToken(ctx, p.Resource, p.Token); err != nil {
		return ahp.AuthenticateResult{}, core.BadParams("token: %s", err)
	} else if known {
		return ahp.AuthenticateResult{}, nil
	}
	return ahp.AuthenticateResult{},
		core.BadParams("resource: no agent asks for a token for %.200q. Sign in with the agent's own program",
			p.Resource)
}
