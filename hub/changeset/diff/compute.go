package diff

import (
	"unicode/utf8"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// Compute compares two versions of a file; nil is a missing version.
func Compute(old, new []byte, o Options) *File { return compute(old, new, o, &syntax{}) }

// compute compares two versions with the syntax that s reads.
func compute(old, new []byte, o Options, s *syntax) *File {
	f := &File{NotUTF8: !utf8.Valid(old) || !utf8.Valid(new)}
	f.TooBig = len(old) > foldBytes || len(new) > foldBytes
	if IsBinary(old) || IsBinary(new) {
		f.Binary, f.OldPixels, f.NewPixels = true, PixelsOf(old), PixelsOf(new)
		return f
	}
	if len(old) > mostBytes || len(new) > mostBytes {
		return f
	}
	f.texts = [2]string{string(old), string(new)}
	c := comparison{file: f, old: split(f.texts[0]), new: split(f.texts[1]), syntax: s}
	f.held, f.Generated = len(old)+len(new), saysGenerated(old) || saysGenerated(new)
	f.OldLines, f.NewLines = len(c.old.lines), len(c.new.lines)
	f.OldNoNewline, f.NewNoNewline = c.old.open, c.new.open
	for _, h := range c.changes(o.Space) {
		if o.Space != SpaceBlank || !c.blankLines(h) {
			f.Hunks = append(f.Hunks, c.hunk(h))
		}
	}
	f.TooBig = f.TooBig || f.Additions+f.Deletions > foldLines
	if !f.TooBig {
		c.decorate(o)
	}
	return f
}

// ContextRows returns the unchanged rows between two lines of the new side (1-based, inclusive), to
// expand a gap between hunks. It omits lines inside hunks.
func ContextRows(old, new []byte, o Options, from, to int) []Row {
	if IsBinary(old) || IsBinary(new) || len(old) > mostBytes || len(new) > mostBytes {
		return nil
	}
	c := comparison{file: &File{}, old: split(string(old)), new: split(string(new))}
	var rows []Row
	next, delta := 1, 0
	for _, h := range c.changes(o.Space) {
		rows = c.between(rows, max(from, next), min(to, h.LineNoY), delta)
		if o.Space == SpaceBlank && c.blankLines(h) {
			rows = c.ignored(rows, h, from, to)
		}
		next, delta = h.EndLineNoY+1, h.EndLineNoX-h.EndLineNoY
	}
	rows = c.between(rows, max(from, next), min(to, len(c.new.lines)), delta)
	classes := (&syntax{}).classes(c.new, o.Path, wanted(rows))
	for i := range rows {
		rows[i].Spans = classes.line(rows[i].New-1, rows[i].Text)
	}
	return rows
}

type comparison struct {
	file     *File
	old, new side
	syntax   *syntax
}

func (c *comparison) changes(space Space) []textdiff.Hunk[string] {
	x, y := c.old.text, c.new.text
	if space == SpaceAmount || space == SpaceNone {
		x, y = c.old.squeezed(space), c.new.squeezed(space)
	}
	return textdiff.Hunks(x, y, diff.Context(contextRows), textdiff.IndentHeuristic())
}

func (c *comparison) hunk(h textdiff.Hunk[string]) Hunk {
	out := Hunk{OldStart: h.LineNoX + 1, OldLines: h.EndLineNoX - h.LineNoX,
		NewStart: h.LineNoY + 1, NewLines: h.EndLineNoY - h.LineNoY, Rows: make([]Row, 0, len(h.Edits))}
	if len(c.old.lines) == 0 {
		out.OldStart = 0
	}
	if len(c.new.lines) == 0 {
		out.NewStart = 0
	}
	out.Section = section(c.old.lines[:h.LineNoX])
	for _, e := range h.Edits {
		out.Rows = append(out.Rows, c.row(e))
	}
	out.Key = keyOf(out.Rows)
	return out
}

func (c *comparison) row(e textdiff.Edit[string]) Row {
	r := Row{Old: e.LineNoX + 1, New: e.LineNoY + 1, Pair: -1} // the side without the line has -1
	switch e.Op {
	case diff.Delete:
		r.Kind, r.Text, r.NoNewline = Delete, c.old.lines[e.LineNoX], c.old.endsAt(e.LineNoX)
		c.file.Deletions++
	case diff.Insert:
		r.Kind, r.Text, r.NoNewline = Add, c.new.lines[e.LineNoY], c.new.endsAt(e.LineNoY)
		c.file.Additions++
	default:
		r.Text, r.NoNewline = c.new.lines[e.LineNoY], c.new.endsAt(e.LineNoY)
	}
	return r
}

func (c *comparison) between(rows []Row, from, to, delta int) []Row {
	for n := from; n <= to; n++ {
		rows = append(rows, Row{Old: n + delta, New: n, Text: c.new.lines[n-1], NoNewline: c.new.endsAt(n - 1),
			Pair: -1})
	}
	return rows
}

// decorate adds words and classes to rows.
func (c *comparison) decorate(o Options) {
	oldClasses := c.syntax.classes(c.old, o.Path, c.wanted(true))
	newClasses := c.syntax.classes(c.new, o.Path, c.wanted(false))
	if c.syntax.missing {
		oldClasses, newClasses = nil, nil // partial colours would look like a mistake
	}
	for i := range c.file.Hunks {
		rows := c.file.Hunks[i].Rows
		var changed map[int][]Span
		if !o.NoWords {
			changed = words(rows)
		}
		for j := range rows {
			r := &rows[j]
			if r.Kind == Delete {
				r.Spans = oldClasses.line(r.Old-1, r.Text)
			} else {
				r.Spans = newClasses.line(r.New-1, r.Text)
			}
			r.Spans = overlay(r.Text, r.Spans, changed[j])
		}
	}
}

// wanted lists the lines (0-based, ascending) of one side whose classes are shown.
func (c *comparison) wanted(old bool) (lines []int) {
	for _, h := range c.file.Hunks {
		for _, r := range h.Rows {
			switch {
			case old && r.Kind == Delete:
				lines = append(lines, r.Old-1)
			case !old && r.Kind != Delete:
				lines = append(lines, r.New-1)
			}
		}
	}
	return lines
}

func wanted(rows []Row) (lines []int) {
	for _, r := range rows {
		lines = append(lines, r.New-1)
	}
	return lines
}
