package threads

import (
	"context"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/review"
)

// QuoteLines adds the text of its lines to a new thread without a quote. The protocol has no field
// for quotes, so clients that only know the protocol send none. It reads the file, so it runs
// before the action's step.
func (p *Part) QuoteLines(ctx context.Context, c core.Caller, info hub.ChannelInfo, a ahp.Action) ahp.Action {
	set, ok := a.(*ahp.AnnotationsSetAction)
	if !ok || info.Kind != ahp.ChannelAnnotations || access.MayAct(c.Principal, a.ActionType(), info) != nil ||
		!p.isNewThread(info.URI, &set.Annotation) {
		return a
	}
	t := set.Annotation
	side, hunk, version := hunkOf(t.Entries[0].Meta)
	if hunk != "" {
		return a
	}
	if hunk = p.readLines(ctx, c, info.Session, &t, side, version); hunk == "" || len(hunk) > maxHunk {
		return a
	}
	t.Entries = slices.Clone(t.Entries)
	t.Entries[0].Meta = core.Stamp{Side: side, Hunk: hunk, Version: version}.Write(t.Entries[0].Meta)
	return &ahp.AnnotationsSetAction{Annotation: t}
}

// isNewThread reports whether an action starts a thread on lines.
func (p *Part) isNewThread(channel ahp.URI, t *ahp.Annotation) bool {
	if t.Range == nil || len(t.Entries) == 0 {
		return false
	}
	s, ok := hub.StateOf[*ahp.AnnotationsState](p.core.Hub, channel)
	return ok && FindThread(s, t.ID) < 0
}

// readLines reads the lines of a new thread in the version it names, or in the current file.
// Everyone who sees the thread sees its quote, so it only reads files that every guest of the
// session may read. Guests of a part of a session may read no files.
func (p *Part) readLines(ctx context.Context, c core.Caller, session ahp.URI, t *ahp.Annotation, side string,
	version ahp.URI) string {
	var data []byte
	var err error
	switch {
	case version != "":
		data, err = p.cfg.ReadVersion(ctx, c, version)
	case side == "before" || c.IsGuest() && !c.Scope.IsWhole():
		return ""
	default:
		data, err = p.cfg.ReadShared(ctx, session, t.Resource)
	}
	if err != nil || len(data) > mostFollowedSize || diff.IsBinary(data) {
		return "" // a quote is optional
	}
	lines, at := review.Lines(string(data)), WholeLines(*t.Range)
	if at.From < 1 || at.To < at.From || at.To > len(lines) {
		return ""
	}
	return strings.Join(lines[at.From-1:at.To], "\n")
}
