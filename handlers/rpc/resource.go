package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Resources reads and lists files by URI.
type Resources interface {
	ResourceRead(ctx context.Context, c core.Caller, p ahp.ResourceReadParams) (ahp.ResourceReadResult, error)
	ResourceList(ctx context.Context, c core.Caller, p ahp.ResourceListParams) (ahp.ResourceListResult, error)
	ResourceResolve(ctx context.Context, c core.Caller, p ahp.ResourceResolveParams) (ahp.ResourceResolveResult, error)
}
