package diff

import (
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// Space selects which changes of whitespace count, as git's options do.
type Space byte

// What counts.
const (
	SpaceAll    Space = iota // every byte
	SpaceAmount              // -b: not how many spaces stand somewhere, nor any at the end of a line
	SpaceNone                // -w: no space at all
	SpaceBlank               // --ignore-blank-lines: not hunks that add or remove empty lines alone
)

// squeezed is the text with the spaces that do not count gone, line by line, so that lines that differ in those are
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

const spaces = " \t\r" // git's, within a line

// blankLines reports whether a hunk adds and removes empty lines only. One that is near to another
// change is shown with it.
func (c *comparison) blankLines(h textdiff.Hunk[string]) bool {
	for _, e := range h.Edits {
		if e.Op == diff.Delete && strings.TrimRight(c.old.lines[e.LineNoX], "\r") != "" ||
			e.Op == diff.Insert && strings.TrimRight(c.new.lines[e.LineNoY], "\r") != "" {
			return false
		}
	}
	return true
}

// ignored is the new side of a hunk that is not shown as one, as far as its lines are wanted.
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
