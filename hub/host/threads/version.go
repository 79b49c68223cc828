package threads

import (
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// ReplaceVersions replaces file versions in guests' new comments by those that the guest sees.
// Viewers of a thread may read its version, so naming a version would give access to it.
func (p *Part) ReplaceVersions(ctx context.Context, c core.Caller, info hub.ChannelInfo, a ahp.Action) ahp.Action {
	if !c.IsGuest() || info.Kind != ahp.ChannelAnnotations {
		return a
	}
	switch a := a.(type) {
	case *ahp.AnnotationsSetAction:
		safe := *a
		safe.Annotation.Entries = slices.Clone(a.Annotation.Entries)
		for i, e := range safe.Annotation.Entries {
			safe.Annotation.Entries[i].Meta = p.replaceVersion(ctx, c, info.Session, a.Annotation.Resource, e.Meta)
		}
		return &safe
	case *ahp.AnnotationsEntrySetAction:
		safe := *a
		safe.Entry.Meta = p.replaceVersion(ctx, c, info.Session, "", a.Entry.Meta)
		return &safe
	}
	return a
}

// replaceVersion returns a comment's `_meta` with a version that its author may read: the named
// one, else that of the file as the author sees it, else none.
func (p *Part) replaceVersion(ctx context.Context, c core.Caller, session, file ahp.URI, m ahp.Meta) ahp.Meta {
	side, hunk, version := hunkOf(m)
	if version == "" {
		return m
	}
	if err := p.cfg.CheckVersion(ctx, c, version); err == nil {
		return m
	}
	return core.Stamp{Side: side, Hunk: hunk, Version: p.visibleVersion(c, session, file, side)}.Write(m)
}

// visibleVersion returns a side of a file in a changeset that the caller sees, or "".
func (p *Part) visibleVersion(c core.Caller, session, file ahp.URI, side string) ahp.URI {
	for _, channel := range p.core.Hub.OfSession(session) {
		info, known := p.core.Hub.Info(channel)
		st, _, awake := p.core.Hub.State(channel)
		if !known || !awake || info.Kind != ahp.ChannelChangeset || !c.Audience().Sees(info) {
			continue
		}
		s, ok := c.Audience().State(info, st).(*ahp.ChangesetState)
		if !ok {
			continue
		}
		for _, f := range s.Files {
			at := f.Edit.After
			if side == "before" {
				at = f.Edit.Before
			}
			if at != nil && at.URI == file {
				return at.Content.URI
			}
		}
	}
	return ""
}
