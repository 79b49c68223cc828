package files

import (
	"context"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/version"
)

// files are the directories open to a caller: those of the sessions it sees, and to the owner the default one. Who sees a
// part of a session reads what that part refers to, and no files.
func (pt *Part) files(c core.Caller) (f machine.FileReach) {
	if !c.Scope.IsWhole() {
		return f
	}
	for _, e := range pt.cfg.Visible(c) {
		f.Roots = append(f.Roots, core.LocalPaths(e.Summary.WorkingDirectories)...)
		f.Worktrees = append(f.Worktrees, core.OwnWorktrees(e.Summary.Resource)...)
	}
	if c.IsOwner() && pt.cfg.DefaultDir != "" {
		f.Roots = append(f.Roots, pt.cfg.DefaultDir)
	}
	return f
}

// ResourceRead answers resourceRead for files and for the versions changesets refer to. Guests read versions and files of
// their session only.
func (pt *Part) ResourceRead(ctx context.Context, c core.Caller, p ahp.ResourceReadParams) (ahp.ResourceReadResult, error) {
	if strings.HasPrefix(p.URI, version.Scheme) {
		data, name, err := pt.cfg.ReadVersion(ctx, c, p.URI)
		if err != nil {
			return ahp.ResourceReadResult{}, err
		}
		return machine.EncodeContent(machine.MediaType(name, data), data, p.Encoding), nil
	}
	if ahp.OfClient(p.URI) {
		return pt.readClients(ctx, c, p)
	}
	reach, err := pt.reach(c, "resourceRead")
	if err != nil {
		return ahp.ResourceReadResult{}, pt.withGrantHint(ctx, c, p.URI, false, err)
	}
	got, err := pt.read(ctx, c, reach, p.URI)
	if err != nil {
		return ahp.ResourceReadResult{}, err
	}
	return machine.EncodeContent(got.Type, got.Data, p.Encoding), nil
}

// whole is what a call without a session is about: the caller's session, or the host.
func (pt *Part) whole(c core.Caller) hub.ChannelInfo {
	if c.Session != "" {
		return core.SessionInfo(c.Session)
	}
	return core.RootInfo
}

// ResourceList answers resourceList.
func (pt *Part) ResourceList(ctx context.Context, c core.Caller, p ahp.ResourceListParams) (ahp.ResourceListResult, error) {
	if ahp.OfClient(p.URI) {
		return pt.listClients(ctx, c, p)
	}
	reach, err := pt.reach(c, "resourceList")
	if err != nil {
		return ahp.ResourceListResult{}, pt.withGrantHint(ctx, c, p.URI, false, err)
	}
	out, err := pt.cfg.Files.List(ctx, reach, p.URI)
	return out, pt.withGrantHint(ctx, c, p.URI, false, err)
}

// ResourceResolve answers resourceResolve; links are followed unless it says otherwise.
func (pt *Part) ResourceResolve(ctx context.Context, c core.Caller, p ahp.ResourceResolveParams) (ahp.ResourceResolveResult, error) {
	if ahp.OfClient(p.URI) {
		return fromClient[ahp.ResourceResolveResult](ctx, pt, c, "resourceResolve", p, p.URI)
	}
	reach, err := pt.reach(c, "resourceResolve")
	if err != nil {
		return ahp.ResourceResolveResult{}, pt.withGrantHint(ctx, c, p.URI, false, err)
	}
	out, err := pt.cfg.Files.Resolve(ctx, reach, p.URI, p.FollowSymlinks == nil || *p.FollowSymlinks)
	return out, pt.withGrantHint(ctx, c, p.URI, false, err)
}
