package review

import (
	"context"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/version"
	"github.com/ahphub/ahphub/templ/part"
)

// threadsOf returns the threads of a session; settleThreads finds their lines, file by file.
func threadsOf(s *ahp.AnnotationsState, people []review.Person, base string, dirs []ahp.URI) []part.Thread {
	out := make([]part.Thread, len(s.Annotations))
	open := 0
	for i := range s.Annotations {
		out[i] = threadOf(&s.Annotations[i], people, base, dirs)
		if !out[i].Resolved {
			open++
			out[i].Place = open
		}
	}
	for i := range out {
		out[i].Of = open
	}
	return out
}

func threadOf(a *ahp.Annotation, people []review.Person, base string, dirs []ahp.URI) part.Thread {
	t := part.Thread{ID: a.ID, Base: base, Path: site.RelativePath(a.Resource, dirs), Resource: a.Resource,
		Side: part.After, Resolved: a.Resolved}
	origin := threads.ThreadOrigin(a)
	t.From, t.To, t.Quote, t.Version = origin.From, origin.To, origin.Hunk, origin.Version
	if origin.Side == string(part.Before) {
		t.Side = part.Before
	}
	for i := range a.Entries {
		e := &a.Entries[i]
		st, _ := core.ReadStamp(e.Meta)
		by := st.By.Name
		if by == "" {
			by = "Agent"
		}
		x := part.Entry{ID: e.ID, By: by, ByID: st.By.ID, At: st.At, Text: e.Text.Text, Agent: st.By.ID == "" ||
			strings.HasPrefix(st.By.ID, "agent")}
		if t.Side == part.After && t.To > 0 {
			x.Pieces = pieces(&t, &x, t.Quote)
		}
		for _, p := range review.Mentions(x.Text, people) {
			x.Called, x.CalledIDs = append(x.Called, p.Name), append(x.CalledIDs, p.ID)
		}
		t.Entries = append(t.Entries, x)
	}
	return t
}

// settleThreads adds a file's threads, each at the current line of its text.
func (b *builder) settleThreads(ctx context.Context, s *ahp.ChangesetState, f *built, threads []part.Thread) {
	i := slices.IndexFunc(s.Files, func(c ahp.ChangesetFile) bool { return c.ID == f.ID })
	edit := &s.Files[i].Edit
	for j := range threads {
		t := &threads[j]
		if !about(edit, t.Resource) {
			continue
		}
		t.File = f.Key()
		b.settleLine(ctx, edit, t)
		f.Threads = append(f.Threads, *t)
	}
	if len(f.Threads) > 0 && f.Diff != nil {
		f.Diff = b.showLines(ctx, edit, f)
	}
}

func about(e *ahp.FileEdit, resource ahp.URI) bool {
	return e.After != nil && e.After.URI == resource || e.Before != nil && e.Before.URI == resource
}

func (b *builder) settleLine(ctx context.Context, e *ahp.FileEdit, t *part.Thread) {
	if t.To == 0 {
		return
	}
	side := e.After
	if t.Side == part.Before {
		side = e.Before
	}
	lines, was := b.text(ctx, side), review.Range{From: t.From, To: t.To}
	now, state := was, review.Exact
	switch old := b.versionOf(ctx, t); {
	case side != nil && t.Version == side.Content.URI:
	case old != nil:
		now, state = review.Reanchor(old, lines, was)
	case t.Quote != "":
		now, state = review.Find(lines, t.Quote, was)
	case t.To > len(lines):
		state = review.Outdated
	}
	switch {
	case state == review.Outdated:
		t.Outdated = true
	case now.From != was.From:
		t.MovedFrom, t.From, t.To = t.From, now.From, now.To
	default:
		t.To = now.To
	}
}

// versionOf returns the version that a thread was written on; nil if it is unknown or not kept.
func (b *builder) versionOf(ctx context.Context, t *part.Thread) []string {
	if !version.IsOf(b.look.short, t.Version) {
		return nil
	}
	return b.text(ctx, &ahp.FileEditSide{URI: t.Resource, Content: ahp.ContentRef{URI: t.Version}})
}

// text returns the lines of a side.
func (b *builder) text(ctx context.Context, s *ahp.FileEditSide) []string {
	data, err := b.content(ctx, s)
	if s == nil || err != nil || diff.IsBinary(data) {
		return nil
	}
	return review.Lines(string(data))
}

// content returns a side of a file with threads, which are positioned for each page. Git takes
// milliseconds for a file, so versions are cached; the caller's access is checked each time.
func (b *builder) content(ctx context.Context, s *ahp.FileEditSide) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	uri := s.Content.URI
	if data, ok := b.p.texts.Get(uri); ok && b.p.Host.CheckVersion(ctx, b.caller, uri) == nil {
		return data, nil
	}
	data, err := b.read(ctx, s)
	if err == nil && version.IsOf(b.look.short, uri) { // a version never changes
		b.p.texts.Put(uri, data, len(data))
	}
	return data, err
}

// showLines adds rows around threads between hunks: commented lines are always visible.
func (b *builder) showLines(ctx context.Context, e *ahp.FileEdit, f *built) *diff.File {
	out := f.src
	for _, t := range f.Threads {
		if t.Side != part.After || t.Outdated || t.To == 0 || shows(out, t.To) {
			continue
		}
		old, errOld := b.content(ctx, e.Before)
		new, errNew := b.content(ctx, e.After)
		if errOld != nil || errNew != nil {
			return out
		}
		rows := diff.ContextRows(old, new, diff.Options{Path: f.Path, Space: b.look.space}, max(1, t.From-3), t.To+3)
		out = withRows(out, rows)
	}
	return out
}

func shows(f *diff.File, line int) bool {
	for i := range f.Hunks {
		h := &f.Hunks[i]
		if line >= h.NewStart && line < h.NewStart+h.NewLines {
			return true
		}
	}
	return false
}

// withRows returns a copy of f with context rows as additional hunks, in order.
func withRows(f *diff.File, rows []diff.Row) *diff.File {
	copied := *f
	copied.Hunks = slices.Clone(f.Hunks)
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].New == rows[n-1].New+1 {
			n++
		}
		h := diff.Hunk{OldStart: rows[0].Old, OldLines: n, NewStart: rows[0].New, NewLines: n, Rows: rows[:n]}
		at, _ := slices.BinarySearchFunc(copied.Hunks, h.NewStart,
			func(x diff.Hunk, line int) int { return x.NewStart - line })
		copied.Hunks = slices.Insert(copied.Hunks, at, h)
		rows = rows[n:]
	}
	return &copied
}
