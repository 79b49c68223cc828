package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Terminals is the part of the host that creates and disposes of terminals.
type Terminals interface {
	Create(ctx context.Context, c core.Caller, p ahp.CreateTerminalParams) error
	Dispose(ctx context.Context, c core.Caller, p ahp.DisposeTerminalParams) error
}

func terminals(cfg *Config) Terminals { return cfg.Terminals }
