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

// changing runs what changes files: for callers who may manage the host, inside of the directories
// that are open to them, or
// where the owner granted it, and with a line in the log.
func (pt *Part) changing(ctx context.Context, c core.Caller, method string, uri ahp.URI, do func(machine.FileReach) error) error {
	if err := pt.core.Hub.ReadOnly(); err != nil {
		return err // what cannot be written down in the audit is not done
	}
	reach, err := pt.reach(c, method)
	if err != nil {
		return pt.withGrantHint(ctx, c, uri, true, err)
	}
	err = pt.withGrantHint(ctx, c, uri, true, do(reach))
	pt.core.Log.Info("files changed by a client", "method", method, "uri", texts.CutBytes(uri, 200), "by", c.Principal, "client", c.ClientID, "err", err)
	return err
}

// ResourceWrite answers resourceWrite (AHP requirements 171 to 174).
func (pt *Part) ResourceWrite(ctx context.Context, c core.Caller, p ahp.ResourceWriteParams) (ahp.ResourceWriteResult, error) {
	if ahp.OfClient(p.URI) {
		return fromClient[ahp.ResourceWriteResult](ctx, pt, c, "resourceWrite", p, p.URI)
	}
	return ahp.ResourceWriteResult{}, pt.changing(ctx, c, "resourceWrite", p.URI, func(reach machine.FileReach) error {
		return pt.cfg.Files.Write(ctx, reach, p)
	})
}

// ResourceMkdir answers resourceMkdir (AHP requirement 179).
func (pt *Part) ResourceMkdir(ctx context.Context, c core.Caller, p ahp.ResourceMkdirParams) (ahp.ResourceMkdirResult, error) {
	if ahp.OfClient(p.URI) {
		return fromClient[ahp.ResourceMkdirResult](ctx, pt, c, "resourceMkdir", p, p.URI)
	}
	return ahp.ResourceMkdirResult{}, pt.changing(ctx, c, "resourceMkdir", p.URI, func(reach machine.FileReach) error {
		return pt.cfg.Files.Mkdir(ctx, reach, p.URI)
	})
}

// ResourceCopy answers resourceCopy (AHP requirement 176).
func (pt *Part) ResourceCopy(ctx context.Context, c core.Caller, p ahp.ResourceCopyParams) (ahp.ResourceCopyResult, error) {
	if ahp.OfClient(p.Source) || ahp.OfClient(p.Destination) {
		return fromClient[ahp.ResourceCopyResult](ctx, pt, c, "resourceCopy", p, p.Source, p.Destination)
	}
	return ahp.ResourceCopyResult{}, pt.changing(ctx, c, "resourceCopy", p.Destination, func(reach machine.FileReach) error {
		return pt.cfg.Files.Copy(ctx, reach, p)
	})
}

// ResourceMove answers resourceMove (AHP requirement 176).
func (pt *Part) ResourceMove(ctx context.Context, c core.Caller, p ahp.ResourceMoveParams) (ahp.ResourceMoveResult, error) {
	if ahp.OfClient(p.Source) || ahp.OfClient(p.Destination) {
		return fromClient[ahp.ResourceMoveResult](ctx, pt, c, "resourceMove", p, p.Source, p.Destination)
	}
	return ahp.ResourceMoveResult{}, pt.changing(ctx, c, "resourceMove", p.Destination, func(reach machine.FileReach) error {
		return pt.cfg.Files.Move(ctx, reach, p)
	})
}

// ResourceDelete answers resourceDelete (AHP requirement 177).
func (pt *Part) ResourceDelete(ctx context.Context, c core.Caller, p ahp.ResourceDeleteParams) (ahp.ResourceDeleteResult, error) {
	if ahp.OfClient(p.URI) {
		return fromClient[ahp.ResourceDeleteResult](ctx, pt, c, "resourceDelete", p, p.URI)
	}
	recursive := p.Recursive != nil && *p.Recursive
	return ahp.ResourceDeleteResult{}, pt.changing(ctx, c, "resourceDelete", p.URI, func(reach machine.FileReach) error {
		return pt.cfg.Files.Delete(ctx, reach, p.URI, recursive)
	})
}

// ResourceRequest answers resourceRequest: what lies in a session's directories is open, for
// reading and writing, and the
// versions of changesets for reading. For anything else accounts wait until the owner grants it; guests are
// refused at once (AHP requirement 181).
func (pt *Part) ResourceRequest(ctx context.Context, c core.Caller, p ahp.ResourceRequestParams) (ahp.ResourceRequestResult, error) {
	if ahp.OfClient(p.URI) {
		return fromClient[ahp.ResourceRequestResult](ctx, pt, c, "resourceRequest", p, p.URI)
	}
	none := ahp.ResourceRequestResult{}
	write := p.Write != nil && *p.Write
	if p.Read == nil && !write {
		p.Read = ahp.Ptr(true)
	}
	if !mayAskFor(c) {
		return none, notGranted(p, "guests have what is shared with them, and are given nothing else")
	}
	if strings.HasPrefix(p.URI, version.Scheme) && !write {
		if _, _, err := pt.cfg.ReadVersion(ctx, c, p.URI); err != nil {
			return none, notGranted(p, "there is no such version of a file")
		}
		return none, nil
	}
	if pt.isOpen(ctx, c, p.URI, write) {
		return none, nil
	}
	return none, pt.askOwner(ctx, c, p, write)
}

// isOpen reports whether what is asked for is open already. A directory is there to be listed.
func (pt *Part) isOpen(ctx context.Context, c core.Caller, uri ahp.URI, write bool) bool {
	method := "resourceRead"
	if found, err := pt.cfg.Files.Look(ctx, uri); err == nil && found.Dir {
		method = "resourceList"
	}
	if write {
		method = "resourceWrite"
	}
	reach, err := pt.reach(c, method)
	return err == nil && pt.cfg.Files.CheckOpen(ctx, reach, uri, write) == nil
}

// withGrantHint attaches the grant that would allow the call to a refusal, for callers who may ask for it.
func (pt *Part) withGrantHint(ctx context.Context, c core.Caller, uri ahp.URI, write bool, err error) error {
	e, known := errors.AsType[*ahp.Error](err)
	if !known || e.Code != ahp.CodePermissionDenied || !mayAskFor(c) || pt.isOpen(ctx, c, uri, write) {
		return err
	}
	request := ahp.ResourceRequestParams{Channel: ahp.RootURI, URI: uri, Read: ahp.Ptr(true)}
	if write {
		request.Write = ahp.Ptr(true)
	}
	return &ahp.Error{Code: e.Code, Message: e.Message, Data: ahp.PermissionDeniedErrorData{Request: &request}}
}

func notGranted(p ahp.ResourceRequestParams, why string) error {
	p.Meta = nil
	e := ahp.Errorf(ahp.CodePermissionDenied, "%.200s is not open to you: %s", p.URI, why)
	e.Data = ahp.PermissionDeniedErrorData{Request: &p}
	return e
}
