package host

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Authenticate answers authenticate. Agents here bring their own credentials, so that no resource that needs a token is
// ever advertised: whatever one is named is not known (AHP requirement 189). The token is neither kept nor logged.
func (h *Host) Authenticate(_ context.Context, c Caller, p ahp.AuthenticateParams) (ahp.AuthenticateResult, error) {
	if err := mayCall(c, "authenticate", rootInfo); err != nil {
		return ahp.AuthenticateResult{}, err
	}
	return ahp.AuthenticateResult{}, badParams("resource: this host asks for no token for %.200q: sign in with the agent's own program", p.Resource)
}
