package threads

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/review"
)

// Clients end ranges of lines in different ways that mean the same lines.
func TestLinesOfARange(t *testing.T) {
	at := func(line, char int64) ahp.TextPosition { return ahp.TextPosition{Line: line, Character: char} }
	for name, c := range map[string]struct {
		r    ahp.TextRange
		want review.Range
	}{
		"whole lines":    {*LineRange(3, 4), review.Range{From: 3, To: 4}},
		"a whole line":   {*LineRange(3, 3), review.Range{From: 3, To: 3}},
		"up to a column": {ahp.TextRange{Start: at(2, 4), End: at(3, 1)}, review.Range{From: 3, To: 4}},
		"within a line":  {ahp.TextRange{Start: at(2, 4), End: at(2, 9)}, review.Range{From: 3, To: 3}},
		"nothing of it":  {ahp.TextRange{Start: at(2, 0), End: at(2, 0)}, review.Range{From: 3, To: 3}},
		"moved, by lines": {*moveRange(ahp.TextRange{Start: at(2, 4), End: at(3, 1)}, review.Range{From: 9, To: 10}),
			review.Range{From: 9, To: 10}},
	} {
		if got := WholeLines(c.r); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// FuzzQuotes checks that clients' quotes are limited and have a valid side.
func FuzzQuotes(f *testing.F) {
	f.Add([]byte(`{"by":{"id":"owner","name":"Ana"},"at":"2026-01-02T03:04:05Z","side":"after","hunk":"x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := ahp.Meta{core.MetaKey: raw}
		if side, hunk, version := hunkOf(m); len(hunk) > maxHunk || len(version) > maxVersion || side != "" &&
			side != "before" && side != "after" {
			t.Errorf("quoted %q of side %q", hunk, side)
		}
	})
}
