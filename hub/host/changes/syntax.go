package changes

import (
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/machine"
)

// Limits of highlighting: above these, a review or a file is shown without colours.
const (
	mostColouredLines = 40_000    // changed lines of a changeset
	mostColouredBytes = 512 << 10 // per version
	mostSyntaxBytes   = 16 << 20  // all versions read per turn
)

// readSyntax has the syntax of changed files read in advance, in the order of the review.
func (p *Part) readSyntax(session ahp.URI, files []machine.ChangedFile) {
	if p.cfg.ReadSyntax == nil {
		return
	}
	var some []machine.ChangedFile
	lines, bytes := 0, int64(0)
	for _, f := range files {
		lines += f.Additions + f.Deletions
		if f.Binary || f.Skipped != "" || max(f.OldSize, f.NewSize) > mostColouredBytes {
			continue
		}
		if bytes += f.OldSize + f.NewSize; bytes > mostSyntaxBytes {
			break
		}
		some = append(some, f)
	}
	if lines > mostColouredLines || len(some) == 0 {
		return
	}
	slices.SortFunc(some, func(a, b machine.ChangedFile) int { return diff.ComparePaths(a.Path, b.Path) })
	p.cfg.ReadSyntax(func(ctx context.Context) []diff.Comparison { return p.comparisons(ctx, session, some) })
}

// comparisons reads both versions of files, with a single git process.
func (p *Part) comparisons(ctx context.Context, session ahp.URI, files []machine.ChangedFile) []diff.Comparison {
	var oids []string
	for _, f := range files {
		oids = append(oids, f.OldOID, f.NewOID)
	}
	contents := p.svc.Contents(ctx, session, slices.DeleteFunc(oids, func(oid string) bool { return oid == "" }))
	var all []diff.Comparison
	for _, f := range files {
		old, hasOld := contents[f.OldOID]
		now, hasNew := contents[f.NewOID]
		if (hasOld || f.OldOID == "") && (hasNew || f.NewOID == "") {
			all = append(all, diff.Comparison{Path: f.Path, Old: old, New: now})
		}
	}
	return all
}
