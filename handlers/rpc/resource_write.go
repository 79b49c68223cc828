package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Watches reports changes of files, on a channel for each watch.
type Watches interface {
	CreateResourceWatch(ctx context.Context, c core.Caller,
		p ahp.CreateResourceWatchParams) (ahp.CreateResourceWatchResult, error)
}

// ResourceWriter changes files by URI. Its calls run in order of arrival, so that pipelined
// requests can create and move a file.
type ResourceWriter interface {
	ResourceWrite(ctx context.Context, c core.Caller, p ahp.ResourceWriteParams) (ahp.ResourceWriteResult, error)
	ResourceMkdir(ctx context.Context, c core.Caller, p ahp.ResourceMkdirParams) (ahp.ResourceMkdirResult, error)
	ResourceCopy(ctx context.Context, c core.Caller, p ahp.ResourceCopyParams) (ahp.ResourceCopyResult, error)
	ResourceMove(ctx context.Context, c core.Caller, p ahp.ResourceMoveParams) (ahp.ResourceMoveResult, error)
	ResourceDelete(ctx context.Context, c core.Caller, p ahp.ResourceDeleteParams) (ahp.ResourceDeleteResult, error)
	ResourceRequest(ctx context.Context, c core.Caller, p ahp.ResourceRequestParams) (ahp.ResourceRequestResult, error)
}
