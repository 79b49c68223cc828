package host

import (
	"context"
	"errors"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/resource"
	"github.com/ahphub/ahphub/hub/version"
)

// files are the directories open to a caller: those of the sessions it sees, and to the owner the default one. Who sees a
// part of a session reads what that part refers to, and no files.
func (h *Host) files(c core.Caller) resource.Files {
	f := resource.Files{Guard: h.guard}
	if !c.Scope.IsWhole() {
		return f
	}
	for _, e := range h.visible(c) {
		f.Roots = append(f.Roots, core.LocalPaths(e.Summary.WorkingDirectories)...)
		f.Worktrees = append(f.Worktrees, ownWorktrees(e.Summary.Resource)...)
	}
	if c.IsOwner() && h.cfg.DefaultDir != "" {
		f.Roots = append(f.Roots, h.cfg.DefaultDir)
	}
	return f
}

// ResourceRead answers resourceRead for files and for the versions changesets refer to. Guests read versions and files of
// their session only.
func (h *Host) ResourceRead(ctx context.Context, c core.Caller, p ahp.ResourceReadParams) (ahp.ResourceReadResult, error) {
	if strings.HasPrefix(p.URI, version.Scheme) {
		data, name, err := h.Blob(ctx, c, p.URI)
		if err != nil {
			return ahp.ResourceReadResult{}, err
		}
		return resource.Encode(name, data, p.Encoding), nil
	}
	if ahp.OfClient(p.URI) {
		return h.readClients(ctx, c, p)
	}
	f, err := h.reach(c, "resourceRead")
	if err != nil {
		return ahp.ResourceReadResult{}, h.wouldOpen(c, p.URI, false, err)
	}
	if f, err = h.guestFiles(ctx, c, f, p.URI); err != nil {
		return ahp.ResourceReadResult{}, err
	}
	out, err := f.Read(p.URI, p.Encoding)
	return out, h.wouldOpen(c, p.URI, false, err)
}

// whole is what a call without a session is about: the caller's session, or the host.
func (h *Host) whole(c core.Caller) hub.ChannelInfo {
	if c.Session != "" {
		return core.SessionInfo(c.Session)
	}
	return core.RootInfo
}

// Blob returns the version of a file that an ahp-blob: URI of a changeset names, and the file's path. A submodule's
// version is a line that names its commit.
func (h *Host) Blob(ctx context.Context, c core.Caller, uri ahp.URI) (data []byte, name string, err error) {
	session, b, err := h.blobAt(ctx, c, uri)
	if err != nil {
		return nil, "", err
	}
	switch {
	case b.Kind == version.Commit && changeset.IsOID(b.OID):
		data = []byte("Subproject commit " + b.OID + "\n")
	case b.Kind == version.Kept:
		data, err = h.kept(session, b.OID)
	default:
		data, err = h.git.Content(ctx, session, b.OID)
	}
	switch {
	case errors.Is(err, changeset.ErrNoContent):
		return nil, "", ahp.Errorf(ahp.CodeNotFound, "%.200s is not kept any more", uri)
	case errors.Is(err, changeset.ErrTooLarge):
		return nil, "", core.BadParams("uri: %v", err)
	}
	return data, b.Path, changes.ConflictError(err)
}

// Blobs returns the versions that ahp-blob: URIs of a session name, read at once. Those that it does not return are read by
// Blob, which says why.
func (h *Host) Blobs(ctx context.Context, c core.Caller, session ahp.URI, uris []ahp.URI) map[ahp.URI][]byte {
	named := map[ahp.URI]string{}
	var oids []string
	for _, uri := range uris {
		of, b, err := h.blobAt(ctx, c, uri)
		if err == nil && of == session && b.Kind == "" {
			named[uri] = b.OID
			oids = append(oids, b.OID)
		}
	}
	if len(oids) == 0 {
		return nil
	}
	contents := h.git.Contents(ctx, session, oids)
	found := map[ahp.URI][]byte{}
	for uri, oid := range named {
		if data, ok := contents[oid]; ok {
			found[uri] = data
		}
	}
	return found
}

// CheckVersion refuses a version of a file that a caller may not read, without reading it.
func (h *Host) CheckVersion(ctx context.Context, c core.Caller, uri ahp.URI) error {
	_, _, err := h.blobAt(ctx, c, uri)
	return err
}

// blobAt reads an ahp-blob: URI, and refuses one that the caller may not read.
func (h *Host) blobAt(ctx context.Context, c core.Caller, uri ahp.URI) (session ahp.URI, b version.Ref, err error) {
	b, ok := version.Parse(uri)
	if !ok {
		return "", b, core.BadParams("uri: %.200q is not a URI", uri)
	}
	session, known := h.core.SessionByShort(b.Session)
	if !known || h.git == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return "", b, core.NoChannel(uri)
	}
	if err := access.MayCall(c.Principal, "resourceRead", core.SessionInfo(session)); err != nil {
		return "", b, core.Denied(err)
	}
	if c.IsGuest() && !h.refers(ctx, c, session, uri, b.Path) && !h.refers(ctx, c, session, b.URI(), b.Path) { // editors escape more
		return "", b, core.NoChannel(uri)
	}
	return session, b, nil
}

// ResourceList answers resourceList.
func (h *Host) ResourceList(ctx context.Context, c core.Caller, p ahp.ResourceListParams) (ahp.ResourceListResult, error) {
	if ahp.OfClient(p.URI) {
		return h.listClients(ctx, c, p)
	}
	f, err := h.reach(c, "resourceList")
	if err != nil {
		return ahp.ResourceListResult{}, h.wouldOpen(c, p.URI, false, err)
	}
	out, err := f.List(p.URI)
	return out, h.wouldOpen(c, p.URI, false, err)
}

// ResourceResolve answers resourceResolve; links are followed unless it says otherwise.
func (h *Host) ResourceResolve(ctx context.Context, c core.Caller, p ahp.ResourceResolveParams) (ahp.ResourceResolveResult, error) {
	if ahp.OfClient(p.URI) {
		return fromClient[ahp.ResourceResolveResult](ctx, h, c, "resourceResolve", p, p.URI)
	}
	f, err := h.reach(c, "resourceResolve")
	if err != nil {
		return ahp.ResourceResolveResult{}, h.wouldOpen(c, p.URI, false, err)
	}
	out, err := f.Resolve(p.URI, p.FollowSymlinks == nil || *p.FollowSymlinks)
	return out, h.wouldOpen(c, p.URI, false, err)
}
