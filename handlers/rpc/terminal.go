package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Terminals makes and disposes of terminals.
type Terminals interface {
	CreateTerminal(ctx context.Context, c core.Caller, p ahp.CreateTerminalParams) error
	DisposeTerminal(ctx context.Context, c core.Caller, p ahp.DisposeTerminalParams) error
}
