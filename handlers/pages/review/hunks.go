package review

import (
	"context"
	"net/http"
	"slices"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/templ/part"
)

// moves finds blocks that were moved within and between the files of a page.
func moves(files []built) {
	list := make([]*diff.File, len(files))
	for i := range files {
		list[i] = files[i].Diff
	}
	for i, blocks := range diff.Moves(list) {
		for _, b := range blocks {
			other := &files[b.File]
			files[i].Moved = append(files[i].Moved, part.Moved{Block: b, Path: other.Path, Href: other.Href()})
		}
	}
}

// marks sets which hunks are reviewed: those with a mark, and while the file's own mark is stale, those that it
// covered. If that version is not kept any more, the other hunks stay unreviewed.
func (b *builder) marks(ctx context.Context, d *part.DiffFile, note changes.FileNote) {
	for _, m := range note.Hunks {
		if d.Done == nil {
			d.Done = make(map[string]string, len(note.Hunks))
		}
		d.Done[m.Key] = m.By.Name
	}
	if d.Diff == nil || !note.Stale || note.Seen == nil || note.By == nil {
		return
	}
	if was := b.seen(ctx, note.Seen); was != nil {
		d.Done = part.Seen(d.Done, was, d.Diff, note.By.Name)
	}
}

// seen compares the reviewed versions again.
func (b *builder) seen(ctx context.Context, was *changes.SeenSides) *diff.File {
	key := diff.Key{Old: was.Before, New: was.After, Options: diff.Options{Space: b.look.space}}
	file, err := b.p.diffs.Compute(ctx, key, func(ctx context.Context) (old, new []byte, err error) {
		if old, err = b.version(ctx, was.Before); err != nil {
			return nil, nil, err
		}
		new, err = b.version(ctx, was.After)
		return old, new, err
	})
	if err != nil {
		return nil
	}
	return file
}

func (b *builder) version(ctx context.Context, uri ahp.URI) ([]byte, error) {
	if uri == "" {
		return nil, nil
	}
	return b.p.readResource(ctx, b.caller, b.look.session, uri)
}

// hunkOps returns the operations that a changeset offers for a range of lines.
func hunkOps(cs *ahp.ChangesetState) (out []part.HunkOp) {
	for _, o := range cs.Operations {
		if offersLines(cs, o.ID) && o.Status != ahp.ChangesetOperationStatusDisabled &&
			slices.Contains(o.Scopes, ahp.ChangesetOperationScopeRange) {
			out = append(out, part.HunkOp{ID: o.ID, Label: o.Label, Confirm: o.Confirmation != nil})
		}
	}
	return out
}

// MarkReviewed serves the form in the head of a file or hunk.
func (p *Pages) MarkReviewed(w http.ResponseWriter, r *http.Request) error {
	_, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	key := r.FormValue("file")
	f, err := p.fileOf(r.Context(), l, key)
	if err != nil {
		return err
	}
	reviewed := r.FormValue("reviewed") == "true"
	if hunk := r.FormValue("hunk"); hunk != "" {
		err = p.markHunk(r, l, f, hunk, reviewed)
	} else {
		err = p.Act(r.Context(), l.changeset(), &ahp.ChangesetFilesReviewChangedAction{Files: []string{f.ID},
			Reviewed: reviewed})
	}
	if err != nil {
		return err
	}
	return site.FinishForm(w, r, l.page()+"#f-"+key)
}

// markHunk stores a mark under the hunk's content; the page sends a prefix of the hunk's key.
func (p *Pages) markHunk(r *http.Request, l look, f *ahp.ChangesetFile, name string, reviewed bool) error {
	d, err := p.whole(r, l, f)
	if err != nil {
		return err
	}
	note := changes.ReadFileNote(f.Meta)
	m := changes.HunkReview{File: f.ID, Version: note.Version(), Reviewed: reviewed}
	for i := range d.Diff.Hunks {
		key := d.Diff.Hunks[i].Key
		if key == "" {
			continue
		}
		m.All = append(m.All, key)
		if part.HunkName(key) == name {
			m.Keys = append(m.Keys, key)
		}
		_, done := d.Done[key]
		if d.Reviewed || done && !slices.ContainsFunc(note.Hunks,
			func(h changes.HunkMark) bool { return h.Key == key }) {
			m.Implied = append(m.Implied, key)
		}
	}
	if len(m.Keys) == 0 {
		return site.NotFound("This hunk is no longer among the changes. It was edited in the meantime.")
	}
	return p.Changes.ReviewHunks(r.Context(), p.CallerOf(r.Context()), l.changeset(), m)
}

// whole compares a file, even one that the page folds.
func (p *Pages) whole(r *http.Request, l look, f *ahp.ChangesetFile) (*part.DiffFile, error) {
	b := newBuilder(p, p.CallerOf(r.Context()), l)
	d := b.file(r.Context(), f, p.SessionState(l.session).WorkingDirectories, true)
	if d.Fold != "" {
		if err := p.unfold(r, l, &d.DiffFile); err != nil {
			return nil, err
		}
	}
	if d.Diff == nil {
		return nil, site.BadRequest("This file has no hunks. Mark the whole file.")
	}
	return &d.DiffFile, nil
}
