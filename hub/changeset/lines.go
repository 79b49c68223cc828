package changeset

import (
	"bytes"
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/ahphub/ahphub/hub/machine"
)

// block is a run of lines of one version and its counterpart in the other, 0-based, ends exclusive.
type block struct{ x0, x1, y0, y1 int }

// blocks returns the differences between two versions, in order, aligned as diffs are drawn,
// because lines are named as shown.
func blocks(x, y []byte) []block {
	var out []block
	for _, h := range textdiff.Hunks(string(x), string(y), diff.Context(0), textdiff.IndentHeuristic()) {
		out = append(out, block{h.LineNoX, h.EndLineNoX, h.LineNoY, h.EndLineNoY})
	}
	return out
}

// pick returns the selected lines of a block. Lines of both sides correspond in order; surplus
// lines of a side are selected by their own numbers, and on the other side with its last line. If
// the named side has no lines, the lines around the gap select the block.
func (b block) pick(l machine.Lines) (x, y []bool) {
	x, y = make([]bool, b.x1-b.x0), make([]bool, b.y1-b.y0)
	named, other, first := y, x, b.y0
	if l.Before {
		named, other, first = x, y, b.x0
	}
	if len(named) == 0 {
		fill(other, l.From <= first+1 && l.To >= first)
		return x, y
	}
	for i := range named {
		named[i] = first+i+1 >= l.From && first+i+1 <= l.To
	}
	copy(other, named)
	for i := len(named); i < len(other); i++ {
		other[i] = named[len(named)-1]
	}
	return x, y
}

func fill(list []bool, v bool) {
	for i := range list {
		list[i] = v
	}
}

// mix makes a version between two: with the selected changes, or with all others. n is the number
// of selected lines.
func mix(x, y []byte, l machine.Lines, with bool) (out []byte, n int) {
	xs, ys := splitLines(x), splitLines(y)
	var w lineWriter
	at := 0
	for _, b := range blocks(x, y) {
		w.add(xs[at:b.x0]...)
		gone, come := b.pick(l)
		w.writeBlock(xs[b.x0:b.x1], gone, ys[b.y0:b.y1], come, with)
		n += count(gone) + count(come)
		at = b.x1
	}
	w.add(xs[at:]...)
	return w.bytes(), n
}

func count(list []bool) (n int) {
	for _, v := range list {
		if v {
			n++
		}
	}
	return n
}

// splitLines keeps line endings.
func splitLines(data []byte) [][]byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineWriter joins lines. A last line without an ending gets one when it is no longer last.
type lineWriter struct{ lines [][]byte }

func (w *lineWriter) add(lines ...[]byte) { w.lines = append(w.lines, lines...) }

// writeBlock writes a block line by line, so that the remaining lines of one side take their
// counterparts' places.
func (w *lineWriter) writeBlock(xs [][]byte, gone []bool, ys [][]byte, come []bool, with bool) {
	for i := range max(len(xs), len(ys)) {
		if i < len(xs) && gone[i] != with {
			w.add(xs[i])
		}
		if i < len(ys) && come[i] == with {
			w.add(ys[i])
		}
	}
}

func (w *lineWriter) bytes() []byte {
	var out bytes.Buffer
	for i, line := range w.lines {
		out.Write(line)
		if i < len(w.lines)-1 && !bytes.HasSuffix(line, []byte("\n")) {
			out.WriteString(w.end(i))
		}
	}
	return out.Bytes()
}

// end returns the line ending used around a line.
func (w *lineWriter) end(i int) string {
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(w.lines) && bytes.HasSuffix(w.lines[j], []byte("\r\n")) {
			return "\r\n"
		}
	}
	return "\n"
}

// carried returns the lines of x that correspond to l in y: the equal ones, and x's side of
// differences. ok is false when there are none.
func carried(x, y []byte, l machine.Lines) (out machine.Lines, ok bool) {
	out = machine.Lines{Before: l.Before}
	include := func(from, to int) { // 0-based, end exclusive
		if from < to {
			if !ok {
				out.From = from + 1
			}
			out.To, ok = to, true
		}
	}
	equal := func(x0, y0, y1 int) { // y0 to y1 equals the lines from x0
		from, to := max(y0, l.From-1), min(y1, l.To)
		include(x0+from-y0, x0+to-y0)
	}
	atX, atY := 0, 0
	for _, b := range blocks(x, y) {
		equal(atX, atY, b.y0)
		if b.y0 < l.To && b.y1 > l.From-1 || b.y0 == b.y1 && l.From <= b.y0+1 && l.To >= b.y0 {
			include(b.x0, b.x1)
		}
		atX, atY = b.x1, b.y1
	}
	equal(atX, atY, len(splitLines(y)))
	return out, ok
}

// hasLines returns why a version has no selectable lines; "" if it has.
func hasLines(e *entry, path string) string {
	switch {
	case e == nil:
		return ""
	case e.link:
		return path + " is a symbolic link: choose the whole file"
	case bytes.IndexByte(e.data[:min(len(e.data), 8000)], 0) >= 0:
		return path + " has no lines: choose the whole file"
	case strings.Count(string(e.data), "\n") > mostLines:
		return path + " has too many lines: choose the whole file"
	}
	return ""
}

const mostLines = 1_000_000
