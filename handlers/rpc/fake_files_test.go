package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// The fake host has no files: transcripts about them run on the real one.

var errNoFiles = ahp.Errorf(ahp.CodePermissionDenied, "outside the roots")

func (f *fake) ResourceWrite(context.Context, core.Caller, ahp.ResourceWriteParams) (ahp.ResourceWriteResult, error) {
	return ahp.ResourceWriteResult{}, errNoFiles
}

func (f *fake) ResourceMkdir(context.Context, core.Caller, ahp.ResourceMkdirParams) (ahp.ResourceMkdirResult, error) {
	return ahp.ResourceMkdirResult{}, errNoFiles
}

func (f *fake) ResourceCopy(context.Context, core.Caller, ahp.ResourceCopyParams) (ahp.ResourceCopyResult, error) {
	return ahp.ResourceCopyResult{}, errNoFiles
}

func (f *fake) ResourceMove(context.Context, core.Caller, ahp.ResourceMoveParams) (ahp.ResourceMoveResult, error) {
	return ahp.ResourceMoveResult{}, errNoFiles
}

func (f *fake) ResourceDelete(context.Context, core.Caller, ahp.ResourceDeleteParams) (ahp.ResourceDeleteResult,
	error) {
	return ahp.ResourceDeleteResult{}, errNoFiles
}

func (f *fake) CreateResourceWatch(context.Context, core.Caller,
	ahp.CreateResourceWatchParams) (ahp.CreateResourceWatchResult, error) {
	return ahp.CreateResourceWatchResult{}, errNoFiles
}

func (f *fake) ResourceRequest(context.Context, core.Caller, ahp.ResourceRequestParams) (ahp.ResourceRequestResult,
	error) {
	return ahp.ResourceRequestResult{}, errNoFiles
}

func (f *fake) Completions(context.Context, core.Caller, ahp.CompletionsParams) (ahp.CompletionsResult, error) {
	return ahp.CompletionsResult{}, nil
}

func (f *fake) SessionConfigCompletions(context.Context, core.Caller,
	ahp.SessionConfigCompletionsParams) (ahp.SessionConfigCompletionsResult, error) {
	return ahp.SessionConfigCompletionsResult{}, nil
}

func (f *fake) Authenticate(context.Context, core.Caller, ahp.AuthenticateParams) (ahp.AuthenticateResult, error) {
	return ahp.AuthenticateResult{}, ahp.Errorf(ahp.CodeInvalidParams, "unknown resource")
}
