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

// files returns the directories open to a caller: those of the visible sessions, and for the owner
// the default one. Guests of a part of a session read only what that part refers to, no files.
func (p *Part) files(c core.Caller) (f machine.FileReach) {
	if !c.Scope.IsWhole() {
		return f
	}
	for _, e := range p.cfg.Visible(c) {
		f.Roots = append(f.Roots, core.LocalPaths(e.Summary.WorkingDirectories)...)
		f.Worktrees = append(f.Worktrees, core.OwnWorktrees(e.Summary.Resource)...)
	}
	if c.IsOwner() && p.cfg.DefaultDir != "" {
		f.Roots = append(f.Roots, p.cfg.DefaultDir)
	}
	return f
}

// ResourceRead handles resourceRead for files and for versions in changesets. Guests read only
// those of their session.
func (p *Part) ResourceRead(ctx context.Context, c core.Caller, params ahp.ResourceReadParams) (
	ahp.ResourceReadResult, error,
) {
	if strings.HasPrefix(params.URI, version.Scheme) {
		data, name, err := p.cfg.ReadVersion(ctx, c, params.URI)
		if err != nil {
			return ahp.ResourceReadResult{}, err
		}
		return machine.EncodeContent(machine.MediaType(name, data), data, params.Encoding), nil
	}
	if ahp.OfClient(params.URI) {
		return p.readClients(ctx, c, params)
	}
	reach, err := p.reach(c, "resourceRead")
	if err != nil {
		return ahp.ResourceReadResult{}, p.withGrantHint(ctx, c, params.URI, false, err)
	}
	got, err := p.read(ctx, c, reach, params.URI)
	if err != nil {
		return ahp.ResourceReadResult{}, err
	}
	return machine.EncodeContent(got.Type, got.Data, params.Encoding), nil
}

// wholeScope returns the channel for calls that name none: the caller's session, or the host.
func (p *Part) wholeScope(c core.Caller) hub.ChannelInfo {
	if c.Session != "" {
		return core.SessionInfo(c.Session)
	}
	return core.RootInfo
}

// ResourceList handles resourceList.
func (p *Part) ResourceList(ctx context.Context, c core.Caller, params ahp.ResourceListParams) (
	ahp.ResourceListResult, error,
) {
	if ahp.OfClient(params.URI) {
		return p.listClients(ctx, c, params)
	}
	reach, err := p.reach(c, "resourceList")
	if err != nil {
		return ahp.ResourceListResult{}, p.withGrantHint(ctx, c, params.URI, false, err)
	}
	out, err := p.cfg.Files.List(ctx, reach, params.URI)
	return out, p.withGrantHint(ctx, c, params.URI, false, err)
}

// ResourceResolve handles resourceResolve. It follows links by default.
func (p *Part) ResourceResolve(ctx context.Context, c core.Caller, params ahp.ResourceResolveParams) (
	ahp.ResourceResolveResult, error,
) {
	if ahp.OfClient(params.URI) {
		return fromClient[ahp.ResourceResolveResult](ctx, p, c, "resourceResolve", params, params.URI)
	}
	reach, err := p.reach(c, "resourceResolve")
	if err != nil {
		return ahp.ResourceResolveResult{}, p.withGrantHint(ctx, c, params.URI, false, err)
	}
	out, err := p.cfg.Files.Resolve(ctx, reach, params.URI, params.FollowSymlinks == nil || *params.FollowSymlinks)
	return out, p.withGrantHint(ctx, c, params.URI, false, err)
}
