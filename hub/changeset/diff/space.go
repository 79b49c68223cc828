package diff

import (
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// Space selects which whitespace changes count, like git's options.
type Space byte

// The values of Space.
const (
	SpaceAll    Space = iota // every byte
	SpaceAmount              // -b: not the number of spaces, nor those at the end of a line
	SpaceNone                // -w: no spaces
	SpaceBlank               // --ignore-blank-lines: not hunks that only add or remove empty lines
)

// squeezed returns the text without ignored spaces, so that lines that only differ in them are
// equal.
func (s side) squeezed(space Space) string {
	var b strings.Builder
	b.Grow(len(s.text))
	for _, line := range s.lines {
		line, owed := strings.TrimRight(line, spaces), false
		for i := range len(line) {
			switch c := line[i]; {
			case strings.IndexByte(spaces, c) >= 0:
				owed = space == SpaceAmount
			case owed:
				b.WriteByte(' ')
				owed = false
				fallthrough
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const spaces = " \t\r" // git's set, within a line

// blankLines reports whether a hunk only adds and removes empty lines. It is still shown if another
// change is near.
func (c *comparison) blankLines(h textdiff.Hunk[string]) bool {
	for _, e := range h.Edits {
		if e.Op == diff.Delete && strings.TrimRight(c.old.lines[e.LineNoX], "\r") != "" ||
			e.Op == diff.Insert && strings.TrimRight(c.new.lines[e.LineNoY], "\r") != "" {
			return false
		}
	}
	return true
}

// ignored returns context rows for the new side of a hunk that is not shown, as far as its lines
// are wanted.
func (c *comparison) ignored(rows []Row, h textdiff.Hunk[string], from, to int) []Row {
	for _, e := range h.Edits {
		n := e.LineNoY + 1
		if e.Op == diff.Delete || n < from || n > to {
			continue
		}
		r := Row{New: n, Text: c.new.lines[n-1], NoNewline: c.new.endsAt(n - 1), Pair: -1}
		if e.Op == diff.Match {
			r.Old = e.LineNoX + 1
		}
		rows = append(rows, r)
	}
	return rows
}
