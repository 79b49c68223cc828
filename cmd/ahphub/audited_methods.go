package main

import (
	"context"
	"errors"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// CreateSession is written down because whoever makes one runs commands.
func (a *audited) CreateSession(ctx context.Context, c core.Caller, p ahp.CreateSessionParams) error {
	err := a.Host.CreateSession(ctx, c, p)
	a.did(ctx, c, "createSession", "", p.Channel, err)
	return err
}

// DisposeSession ends a session for good.
func (a *audited) DisposeSession(ctx context.Context, c core.Caller, p ahp.DisposeSessionParams) error {
	err := a.Host.DisposeSession(ctx, c, p)
	a.did(ctx, c, "disposeSession", "", p.Channel, err)
	return err
}

// DisposeChat takes a chat away.
func (a *audited) DisposeChat(ctx context.Context, c core.Caller, p ahp.DisposeChatParams) error {
	err := a.Host.DisposeChat(ctx, c, p)
	a.did(ctx, c, "disposeChat", "", p.Channel, err)
	return err
}

// MoveChat may show a chat to others than before.
func (a *audited) MoveChat(ctx context.Context, c core.Caller, p ahp.MoveChatParams) (ahp.MoveChatResult, error) {
	r, err := a.Host.MoveChat(ctx, c, p)
	a.did(ctx, c, "moveChat", "", p.Channel, err)
	return r, err
}

// CreateTerminal starts a shell.
func (a *audited) CreateTerminal(ctx context.Context, c core.Caller, p ahp.CreateTerminalParams) error {
	err := a.Host.CreateTerminal(ctx, c, p)
	a.did(ctx, c, "createTerminal", "", p.Channel, err)
	return err
}

// DisposeTerminal ends what runs in one.
func (a *audited) DisposeTerminal(ctx context.Context, c core.Caller, p ahp.DisposeTerminalParams) error {
	err := a.Host.DisposeTerminal(ctx, c, p)
	a.did(ctx, c, "disposeTerminal", "", p.Channel, err)
	return err
}

// ResourceWrite changes a file.
func (a *audited) ResourceWrite(ctx context.Context, c core.Caller,
	p ahp.ResourceWriteParams) (ahp.ResourceWriteResult, error) {
	r, err := a.Host.ResourceWrite(ctx, c, p)
	a.did(ctx, c, "resourceWrite", "", p.URI, err)
	return r, err
}

// ResourceMkdir makes a directory.
func (a *audited) ResourceMkdir(ctx context.Context, c core.Caller,
	p ahp.ResourceMkdirParams) (ahp.ResourceMkdirResult, error) {
	r, err := a.Host.ResourceMkdir(ctx, c, p)
	a.did(ctx, c, "resourceMkdir", "", p.URI, err)
	return r, err
}

// ResourceCopy may write over what was there.
func (a *audited) ResourceCopy(ctx context.Context, c core.Caller, p ahp.ResourceCopyParams) (ahp.ResourceCopyResult,
	error) {
	r, err := a.Host.ResourceCopy(ctx, c, p)
	a.did(ctx, c, "resourceCopy", "to "+p.Destination, p.Source, err)
	return r, err
}

// ResourceMove may write over what was there.
func (a *audited) ResourceMove(ctx context.Context, c core.Caller, p ahp.ResourceMoveParams) (ahp.ResourceMoveResult,
	error) {
	r, err := a.Host.ResourceMove(ctx, c, p)
	a.did(ctx, c, "resourceMove", "to "+p.Destination, p.Source, err)
	return r, err
}

// ResourceDelete takes files away.
func (a *audited) ResourceDelete(ctx context.Context, c core.Caller,
	p ahp.ResourceDeleteParams) (ahp.ResourceDeleteResult, error) {
	r, err := a.Host.ResourceDelete(ctx, c, p)
	a.did(ctx, c, "resourceDelete", "", p.URI, err)
	return r, err
}

// ResourceRequest asks for files beyond what a client may reach. That it was in vain is written
// down too, once a minute.
func (a *audited) ResourceRequest(ctx context.Context, c core.Caller,
	p ahp.ResourceRequestParams) (ahp.ResourceRequestResult, error) {
	r, err := a.Host.ResourceRequest(ctx, c, p)
	if e, known := errors.AsType[*ahp.Error](err); known && e.Code == ahp.CodePermissionDenied &&
		a.due(c.ID+" asks for "+p.URI) {
		a.note(ctx, c, auditedMethods["resourceRequest"]+", in vain", p.URI)
	}
	a.did(ctx, c, "resourceRequest", "", p.URI, err)
	return r, err
}

// InvokeChangesetOperation writes files or takes changes back.
func (a *audited) InvokeChangesetOperation(ctx context.Context, c core.Caller,
	p ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error) {
	r, err := a.Host.InvokeChangesetOperation(ctx, c, p)
	a.did(ctx, c, "invokeChangesetOperation", p.OperationID, p.Channel, err)
	return r, err
}

// Authenticate gives an agent a token, which is not written down.
func (a *audited) Authenticate(ctx context.Context, c core.Caller, p ahp.AuthenticateParams) (ahp.AuthenticateResult,
	error) {
	r, err := a.Host.Authenticate(ctx, c, p)
	a.did(ctx, c, "authenticate", "", p.Resource, err)
	return r, err
}

// RunAutomation starts what an automation does.
func (a *audited) RunAutomation(ctx context.Context, c core.Caller,
	p ahp.RunAutomationParams) (ahp.RunAutomationResult, error) {
	r, err := a.Host.RunAutomation(ctx, c, p)
	a.did(ctx, c, "runAutomation", "", p.Automation, err)
	return r, err
}
