package changes

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// HunkMark records who reviewed a hunk. Key identifies the hunk's changes, as in diff.Hunk, so that
// the mark stays while the hunk moves in its file, and is lost when its lines are edited.
type HunkMark struct {
	Key string        `json:"key"`
	By  core.Identity `json:"by"`
	At  time.Time     `json:"at"`
}

// HunkReview marks or unmarks hunks of a file.
type HunkReview struct {
	File    string   // id in the changeset
	Version string   // FileNote.Version of the reviewed file
	Keys    []string // the hunks to mark
	All     []string // every hunk of that version
	// hunks reviewed by the file's mark: all of them, or the old ones while it is stale
	Implied  []string
	Reviewed bool
}

// Limits of marks per file; older ones are dropped.
const (
	mostHunkMarks = 1_000
	mostHunkKeys  = 20_000
)

// ReviewHunks marks hunks, in addition to the protocol's marks of files. A file is reviewed if all
// its hunks are, and unmarking a hunk unmarks its file. Errors: -32602 not in the changeset.
func (p *Part) ReviewHunks(ctx context.Context, c core.Caller, uri ahp.URI, r HunkReview) error {
	info, known := p.core.Hub.Info(uri)
	session, _, ok := p.parseURI(uri)
	if !known || !ok || info.Kind != ahp.ChannelChangeset || !c.Audience().Sees(info) {
		return core.NoChannel(uri)
	}
	if err := c.MayAct("changeset/filesReviewChanged", info); err != nil {
		return err
	}
	if err := p.wake(ctx, session, uri); err != nil {
		return err
	}
	if len(r.Keys) == 0 || len(r.All) > mostHunkKeys || slices.ContainsFunc(r.Keys,
		func(k string) bool { return !slices.Contains(r.All, k) }) {
		return core.BadParams("keys: every key must name a hunk of the file")
	}
	l := p.ledger(session)
	if err := l.record.load(ctx); err != nil {
		return err
	}
	found := false
	err := p.core.Hub.Do(func(tx *hub.Tx) {
		s, _ := hub.StateOf[*ahp.ChangesetState](tx, uri)
		if s == nil {
			return
		}
		i := slices.IndexFunc(s.Files, func(f ahp.ChangesetFile) bool { return f.ID == r.File })
		if found = i >= 0; !found {
			return
		}
		f := s.Files[i]
		now := ReadFileNote(f.Meta).Version()
		l.record.changeIn(tx, func(rec *ledgerRecord) {
			rec.reviewHunks(markKey(uri, r.File), r, now, c.Who(),
				p.core.Now().UTC())
		})
		if !r.Reviewed && f.Reviewed != nil && *f.Reviewed {
			tx.Apply(uri, &ahp.ChangesetFilesReviewChangedAction{Files: []string{r.File}, Reviewed: false})
		}
		l.record.showMarks(tx, uri, []string{r.File})
	})
	if err == nil && !found {
		return core.BadParams("file: it is not in this changeset; it may have changed in the meantime")
	}
	return err
}

// reviewHunks changes the marks of a file; now is its current version.
func (rec *ledgerRecord) reviewHunks(key string, r HunkReview, now string, by core.Identity, at time.Time) {
	file, had := rec.Marks[key]
	marks := slices.Clone(rec.Hunks[key])
	if had && len(r.Implied) > 0 { // convert the file's mark to marks of its hunks
		marks = withMarks(marks, r.Implied, HunkMark{By: file.By, At: file.At})
	}
	if r.Reviewed {
		marks = withMarks(marks, r.Keys, HunkMark{By: by, At: at})
	} else {
		marks = slices.DeleteFunc(marks, func(m HunkMark) bool { return slices.Contains(r.Keys, m.Key) })
		delete(rec.Marks, key)
	}
	if rec.Marks == nil {
		rec.Marks = map[string]mark{}
	}
	if r.Reviewed && r.Version == now && len(withMarks(marks, r.All, HunkMark{})) == len(marks) {
		rec.Marks[key] = mark{Hash: now, By: by, At: at}
	}
	if rec.Hunks == nil {
		rec.Hunks = map[string][]HunkMark{}
	}
	rec.Hunks[key] = marks[max(0, len(marks)-mostHunkMarks):]
	if len(marks) == 0 {
		delete(rec.Hunks, key)
	}
}

// withMarks adds a mark for each key without one.
func withMarks(marks []HunkMark, keys []string, m HunkMark) []HunkMark {
	had := make(map[string]bool, len(marks))
	for _, o := range marks {
		had[o.Key] = true
	}
	for _, k := range keys {
		if !had[k] {
			had[k] = true
			m.Key = k
			marks = append(marks, m)
		}
	}
	return marks
}

// clone returns a copy that can be encoded while the record changes.
func (rec ledgerRecord) clone() ledgerRecord {
	rec.Marks, rec.Hunks = maps.Clone(rec.Marks), maps.Clone(rec.Hunks) // their values are immutable
	return rec
}
