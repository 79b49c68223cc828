package changes

import (
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// checkFilesReviewed lets every reviewer mark files. It also records the reviewer, for whom the
// action has no field.
func (p *Part) checkFilesReviewed(r *core.Request, s *ahp.ChangesetState,
	a *ahp.ChangesetFilesReviewChangedAction) string {
	for _, id := range a.Files {
		if !slices.ContainsFunc(s.Files, func(f ahp.ChangesetFile) bool { return f.ID == id }) {
			return "this changeset has no file " + id + ". It may have changed in the meantime"
		}
	}
	if len(a.Files) == 0 {
		return "name at least one file"
	}
	l := p.ledger(r.Info.Session)
	if !l.record.isLoaded() {
		return "this changeset was closed in the meantime. Open it again"
	}
	uri, files, m := r.Info.URI, a.Files, mark{By: r.Caller.Who(), At: r.Now.UTC()}
	l.record.changeIn(r.Tx, func(rec *ledgerRecord) { rec.markFiles(uri, s, files, a.Reviewed, m) })
	r.Tx.Effect(uri, func(ctx context.Context) { p.showReviewed(ctx, l, uri, files) })
	return ""
}
