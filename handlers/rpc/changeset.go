package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Changesets runs the operations of a changeset.
type Changesets interface {
	InvokeChangesetOperation(ctx context.Context, c core.Caller,
		p ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error)
}
