package files

import (
	"context"
	"errors"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
	"github.com/ahphub/ahphub/hub/version"
)

// change runs a change of files: for callers who may manage the host, in directories that are open
// to them or granted by the owner. It logs the change.
func (p *Part) change(ctx context.Context, c core.Caller, method string, uri ahp.URI,
	do func(machine.FileReach) error) error {
	if err := p.core.Hub.ReadOnly(); err != nil {
		return err // changes that cannot be audited are refused
	}
	reach, err := p.reach(c, method)
	if err != nil {
		return p.withGrantHint(ctx, c, uri, true, err)
	}
	err = p.withGrantHint(ctx, c, uri, true, do(reach))
	p.core.Log.Info("files changed by a client", "method", method, "uri", texts.CutBytes(uri, 200),
		"by", c.Principal, "client", c.ClientID, "err", err)
	return err
}

// ResourceWrite handles resourceWrite (AHP requirements 171 to 174).
func (p *Part) ResourceWrite(ctx context.Context, c core.Caller, params ahp.ResourceWriteParams) (
	ahp.ResourceWriteResult, error,
) {
	if ahp.OfClient(params.URI) {
		return fromClient[ahp.ResourceWriteResult](ctx, p, c, "resourceWrite", params, params.URI)
	}
	return ahp.ResourceWriteResult{}, p.change(ctx, c, "resourceWrite", params.URI,
		func(reach machine.FileReach) error {
			return p.cfg.Files.Write(ctx, reach, params)
		})
}

// ResourceMkdir handles resourceMkdir (AHP requirement 179).
func (p *Part) ResourceMkdir(ctx context.Context, c core.Caller, params ahp.ResourceMkdirParams) (
	ahp.ResourceMkdirResult, error,
) {
	if ahp.OfClient(params.URI) {
		return fromClient[ahp.ResourceMkdirResult](ctx, p, c, "resourceMkdir", params, params.URI)
	}
	return ahp.ResourceMkdirResult{}, p.change(ctx, c, "resourceMkdir", params.URI,
		func(reach machine.FileReach) error {
			return p.cfg.Files.Mkdir(ctx, reach, params.URI)
		})
}

// ResourceCopy handles resourceCopy (AHP requirement 176).
func (p *Part) ResourceCopy(ctx context.Context, c core.Caller, params ahp.ResourceCopyParams) (
	ahp.ResourceCopyResult, error,
) {
	if ahp.OfClient(params.Source) || ahp.OfClient(params.Destination) {
		return fromClient[ahp.ResourceCopyResult](ctx, p, c, "resourceCopy", params, params.Source, params.Destination)
	}
	err := p.change(ctx, c, "resourceCopy", params.Destination, func(reach machine.FileReach) error {
		return p.cfg.Files.Copy(ctx, reach, params)
	})
	return ahp.ResourceCopyResult{}, err
}

// ResourceMove handles resourceMove (AHP requirement 176).
func (p *Part) ResourceMove(ctx context.Context, c core.Caller, params ahp.ResourceMoveParams) (
	ahp.ResourceMoveResult, error,
) {
	if ahp.OfClient(params.Source) || ahp.OfClient(params.Destination) {
		return fromClient[ahp.ResourceMoveResult](ctx, p, c, "resourceMove", params, params.Source, params.Destination)
	}
	err := p.change(ctx, c, "resourceMove", params.Destination, func(reach machine.FileReach) error {
		return p.cfg.Files.Move(ctx, reach, params)
	})
	return ahp.ResourceMoveResult{}, err
}

// ResourceDelete handles resourceDelete (AHP requirement 177).
func (p *Part) ResourceDelete(ctx context.Context, c core.Caller, params ahp.ResourceDeleteParams) (
	ahp.ResourceDeleteResult, error,
) {
	if ahp.OfClient(params.URI) {
		return fromClient[ahp.ResourceDeleteResult](ctx, p, c, "resourceDelete", params, params.URI)
	}
	recursive := params.Recursive != nil && *params.Recursive
	err := p.change(ctx, c, "resourceDelete", params.URI, func(reach machine.FileReach) error {
		return p.cfg.Files.Delete(ctx, reach, params.URI, recursive)
	})
	return ahp.ResourceDeleteResult{}, err
}

// ResourceRequest handles resourceRequest. Files in a session's directories are open for reading
// and writing, and versions in changesets for reading. For other files, accounts wait for the
// owner's grant; guests are refused at once (AHP requirement 181).
func (p *Part) ResourceRequest(ctx context.Context, c core.Caller, params ahp.ResourceRequestParams) (
	ahp.ResourceRequestResult, error,
) {
	if ahp.OfClient(params.URI) {
		return fromClient[ahp.ResourceRequestResult](ctx, p, c, "resourceRequest", params, params.URI)
	}
	none := ahp.ResourceRequestResult{}
	write := params.Write != nil && *params.Write
	if params.Read == nil && !write {
		params.Read = ahp.Ptr(true)
	}
	if !mayAskFor(c) {
		return none, denyGrant(params, "guests only have access to what is shared with them")
	}
	if strings.HasPrefix(params.URI, version.Scheme) && !write {
		if _, _, err := p.cfg.ReadVersion(ctx, c, params.URI); err != nil {
			return none, denyGrant(params, "this version of a file does not exist")
		}
		return none, nil
	}
	if p.isOpen(ctx, c, params.URI, write) {
		return none, nil
	}
	return none, p.askOwner(ctx, c, params, write)
}

// isOpen reports whether access to a URI is already open. For directories, it checks listing.
func (p *Part) isOpen(ctx context.Context, c core.Caller, uri ahp.URI, write bool) bool {
	method := "resourceRead"
	if found, err := p.cfg.Files.Look(ctx, uri); err == nil && found.Dir {
		method = "resourceList"
	}
	if write {
		method = "resourceWrite"
	}
	reach, err := p.reach(c, method)
	return err == nil && p.cfg.Files.CheckOpen(ctx, reach, uri, write) == nil
}

// withGrantHint attaches the grant that would allow the call to a refusal, for callers who may ask for it.
func (p *Part) withGrantHint(ctx context.Context, c core.Caller, uri ahp.URI, write bool, err error) error {
	e, known := errors.AsType[*ahp.Error](err)
	if !known || e.Code != ahp.CodePermissionDenied || !mayAskFor(c) || p.isOpen(ctx, c, uri, write) {
		return err
	}
	request := ahp.ResourceRequestParams{Channel: ahp.RootURI, URI: uri, Read: ahp.Ptr(true)}
	if write {
		request.Write = ahp.Ptr(true)
	}
	return &ahp.Error{Code: e.Code, Message: e.Message, Data: ahp.PermissionDeniedErrorData{Request: &request}}
}

func denyGrant(p ahp.ResourceRequestParams, why string) error {
	p.Meta = nil
	e := ahp.Errorf(ahp.CodePermissionDenied, "you can't access %.200s: %s", p.URI, why)
	e.Data = ahp.PermissionDeniedErrorData{Request: &p}
	return e
}
