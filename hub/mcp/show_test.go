package mcp

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/review"
)

// Agents get the lines that a comment is about, however a client ends their range.
func TestLinesOfComment(t *testing.T) {
	at := func(line, char int64) ahp.TextPosition { return ahp.TextPosition{Line: line, Character: char} }
	for name, c := range map[string]struct {
		r     *ahp.TextRange
		quote string
		want  review.Range
	}{
		"a file":                   {nil, "", review.Range{}},
		"up to the next line":      {threads.LineRange(3, 5), "", review.Range{From: 3, To: 5}},
		"one line, up to the next": {threads.LineRange(3, 3), "", review.Range{From: 3, To: 3}},
		"the end is a position inside": {&ahp.TextRange{Start: at(2, 0), End: at(4, 7)}, "",
			review.Range{From: 3, To: 5}},
		"what was quoted counts": {&ahp.TextRange{Start: at(2, 0), End: at(4, 0)}, "a\nb\nc",
			review.Range{From: 3, To: 5}},
	} {
		if got := rangeOf(&ahp.Annotation{Range: c.r}, c.quote); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
