package main

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Ask forwards a request of the host to a client. The endpoint is made after the host; until then
// there are no clients.
func (a *app) Ask(ctx context.Context, principal, clientID, method string, params, result any) error {
	if a.rpc == nil {
		return ahp.Errorf(ahp.CodeNotFound, "no client is connected yet")
	}
	return a.rpc.Ask(ctx, principal, clientID, method, params, result)
}
