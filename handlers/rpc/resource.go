package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Files is the part of the host that answers the resource methods.
type Files interface {
	Resources
	ResourceWriter
	Watches
}

func files(cfg *Config) Files { return cfg.Files }

// Resources reads and lists files by URI.
type Resources interface {
	ResourceRead(ctx context.Context, c core.Caller, p ahp.ResourceReadParams) (ahp.ResourceReadResult, error)
	ResourceList(ctx context.Context, c core.Caller, p ahp.ResourceListParams) (ahp.ResourceListResult, error)
	ResourceResolve(ctx context.Context, c core.Caller, p ahp.ResourceResolveParams) (ahp.ResourceResolveResult, error)
}
