package threads

import (
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
)

// Threads follow their lines: after a turn, the range of every open thread is updated to the lines'
// position, so that clients which only know the protocol show it there too. The original range
// stays in the host's key of `_meta`. A thread is moved only if all its lines are unchanged and
// contiguous.

const (
	mostFollowed     = 500     // threads of a session checked after a turn
	mostFollowedSize = 4 << 20 // bytes of a file that is compared
)

// Origin is the original position of a thread: the lines, their version, and their text.
type Origin struct {
	review.Range
	Side    string
	Version ahp.URI
	Hunk    string
}

// originOf returns the origin of a thread. If a person moved it, the new range is its origin.
func originOf(t ahp.Annotation) Origin {
	var o Origin
	for _, e := range t.Entries[:min(1, len(t.Entries))] {
		st, _ := core.ReadStamp(e.Meta)
		o.Side, o.Version, o.Hunk = st.Side, st.Version, st.Hunk
	}
	r := t.Range
	if st, ok := core.ReadStamp(t.Meta); ok && st.Range != nil && r != nil {
		r = st.Range
	}
	if r != nil {
		o.Range = WholeLines(*r)
	}
	return o
}

// ThreadOrigin is originOf for pages.
func ThreadOrigin(t *ahp.Annotation) Origin { return originOf(*t) }

// FollowLines moves the ranges of a session's open threads with their lines.
func (p *Part) FollowLines(ctx context.Context, session ahp.URI) {
	s, _ := hub.StateOf[*ahp.AnnotationsState](p.core.Hub, core.AnnotationsURI(session))
	if s == nil || p.cfg.Repositories == nil {
		return // not loaded: moved after a later turn; pages compute positions themselves
	}
	files, looked := map[ahp.URI][]string{}, 0
	var moves []ahp.AnnotationsUpdatedAction
	for _, t := range s.Annotations {
		if st, _ := core.ReadStamp(t.Meta); t.Resolved || t.Range == nil || st.Range == nil ||
			originOf(t).Side == "before" {
			continue
		}
		if looked++; looked > mostFollowed {
			break
		}
		if _, read := files[t.Resource]; !read {
			files[t.Resource] = p.workingLines(ctx, session, t.Resource)
		}
		if now, ok := p.locateThread(ctx, session, t, files[t.Resource]); ok && rangeOf(t) != now {
			moves = append(moves, ahp.AnnotationsUpdatedAction{AnnotationID: t.ID, Range: moveRange(*t.Range, now)})
		}
	}
	if len(moves) == 0 {
		return
	}
	err := p.core.Do(ctx, func(tx *hub.Tx) { p.moveThreads(tx, session, s, moves) })
	if err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("threads were not moved along with their lines", "session", session, "err", err)
	}
}

// moveThreads moves the threads that no client has moved since seen.
func (p *Part) moveThreads(tx *hub.Tx, session ahp.URI, seen *ahp.AnnotationsState,
	moves []ahp.AnnotationsUpdatedAction) {
	now, _ := hub.StateOf[*ahp.AnnotationsState](tx, core.AnnotationsURI(session))
	if now == nil {
		return
	}
	for i := range moves {
		a, b := FindThread(seen, moves[i].AnnotationID), FindThread(now, moves[i].AnnotationID)
		if b < 0 || now.Annotations[b].Range == nil || *now.Annotations[b].Range != *seen.Annotations[a].Range {
			continue
		}
		tx.Apply(core.AnnotationsURI(session), &moves[i])
	}
}

// replaceOrigin makes a thread's range its origin after a client moved it, and drops the old quote.
func replaceOrigin(t ahp.Annotation) ahp.Annotation {
	if st, ok := core.ReadStamp(t.Meta); ok {
		st.Range = t.Range
		t.Meta = st.Write(t.Meta)
	}
	t.Entries = slices.Clone(t.Entries)
	for i := range t.Entries[:min(1, len(t.Entries))] {
		if st, ok := core.ReadStamp(t.Entries[i].Meta); ok {
			st.Version, st.Hunk = "", ""
			t.Entries[i].Meta = st.Write(t.Entries[i].Meta)
		}
	}
	return t
}

// deriveRange updates the origin of a thread that a client moved. Moves by the host keep the
// origin.
func (p *Part) deriveRange(tx *hub.Tx, e *hub.Envelope, s *ahp.AnnotationsState) {
	a, ok := e.Action.(*ahp.AnnotationsUpdatedAction)
	if !ok || a.Range == nil || e.Origin == nil {
		return
	}
	if i := FindThread(s, a.AnnotationID); i >= 0 {
		tx.Apply(e.Channel.URI, &ahp.AnnotationsSetAction{Annotation: replaceOrigin(s.Annotations[i])})
	}
}

func rangeOf(t ahp.Annotation) review.Range { return WholeLines(*t.Range) }

// WholeLines returns the lines of a range, from 1 and inclusive. Positions of the protocol count
// from zero, and a range that ends at the start of a line excludes that line.
func WholeLines(r ahp.TextRange) review.Range {
	to := int(r.End.Line) + 1
	if r.End.Character == 0 && r.End.Line > r.Start.Line {
		to--
	}
	return review.Range{From: int(r.Start.Line) + 1, To: to}
}

// LineRange returns a range of whole lines, from 1 and inclusive.
func LineRange(from, to int) *ahp.TextRange {
	return &ahp.TextRange{Start: ahp.TextPosition{Line: int64(from - 1)}, End: ahp.TextPosition{Line: int64(to)}}
}

// moveRange returns a range moved to other lines of the same number. It keeps the characters.
func moveRange(r ahp.TextRange, to review.Range) *ahp.TextRange {
	by := int64(to.From - WholeLines(r).From)
	r.Start.Line, r.End.Line = r.Start.Line+by, r.End.Line+by
	return &r
}

// workingLines reads a file in the session's directories, or returns nil.
func (p *Part) workingLines(ctx context.Context, session, uri ahp.URI) []string {
	reach := machine.FileReach{Roots: p.core.LocalDirs(session), Worktrees: []string{core.ShortID(session)}}
	got, err := p.cfg.Files.Read(ctx, reach, uri)
	if err != nil || len(got.Data) > mostFollowedSize || diff.IsBinary(got.Data) {
		return nil
	}
	return review.Lines(string(got.Data))
}
