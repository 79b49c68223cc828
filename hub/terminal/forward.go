package terminal

import (
	"bytes"
	"slices"
)

// forward skips output that a picture would not show: plain lines that have scrolled away. The emulator takes a sixth
// of a millisecond per line, so a picture after a flood of lines would take seconds. It returns the offset to begin at,
// the blocks from there on, and the sequence that prepares a fresh terminal; ok is false if nothing can be skipped.
//
// The skipped output must be plain until the cursor reaches the bottom of the main screen, and so must the following
// output for as many lines as a picture has.
func forward(blocks []block, rows int) (at int64, rest []block, begin string, ok bool) {
	const keep = scrollbackLines + 1
	lines := 0
	for k := len(blocks) - 1; k > 0; k-- {
		b := blocks[k]
		n, plain := plainLines(b.data)
		if !plain || !b.modes.isPlain() || b.rows != blocks[k-1].rows || b.cols != blocks[k-1].cols {
			lines = 0
			continue
		}
		if lines += n; lines <= keep+2*rows {
			continue
		}
		skip := 0
		for range lines - keep - rows {
			skip += bytes.IndexByte(b.data[skip:], '\n') + 1
		}
		if !bytes.HasSuffix(b.data[:skip], []byte("\r\n")) {
			return 0, nil, "", false // the column is unknown
		}
		return b.at + int64(skip), blocks[k:], b.modes.String() + "\x1b[999;1H" + pen(blocks[:k], b.data[:skip]), true
	}
	return 0, nil, "", false
}

// isPlain reports whether lines are drawn on the main screen and scroll all of it.
func (m modes) isPlain() bool {
	return m.screen() == 0 && m.region[0] == "" && !m.lines && !slices.Contains(m.on, 7)
}

// plainLines counts the line feeds of a text, and reports whether the cursor otherwise stays on its line.
func plainLines(b []byte) (n int, plain bool) {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\n':
			n++
		case c == runeESC:
			end := sequenceEnd(b[i:])
			if !isHarmless(b[i : i+end]) {
				return n, false
			}
			i += end - 1
		case c >= ' ', c == '\r', c == '\t', c == '\b', c == runeBEL, c == 0:
		default:
			return n, false
		}
	}
	return n, true
}

// sequenceEnd returns the length of the sequence that b begins with.
func sequenceEnd(b []byte) int {
	if len(b) < 2 || b[1] != '[' {
		n := sequenceLen(b)
		if n == 2 && b[1] == '(' {
			n = min(3, len(b))
		}
		return n
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 {
			return i + 1
		}
	}
	return len(b)
}

// noDrawing are the modes that do not affect drawing.
var noDrawing = []string{"?1", "?12", "?25", "?1000", "?1002", "?1003", "?1004", "?1006", "?1015", "?2004", "?2026"}

// isHarmless reports whether a sequence neither moves between lines nor changes state that modes does
// not track.
func isHarmless(seq []byte) bool {
	if len(seq) < 3 {
		return false
	}
	body, final := string(seq[2:len(seq)-1]), seq[len(seq)-1]
	switch seq[1] {
	case ']':
		return true
	case '(':
		return body == "" && final == 'B'
	case '[':
	default:
		return false
	}
	switch final {
	case 'm', 'K', 'C', 'D', 'G', 'P', '@', 'X':
		return true
	case 'h', 'l':
		return slices.Contains(noDrawing, body)
	}
	return false
}

// pen returns the sequences that set the colours at the end of the output: all since the last reset.
func pen(blocks []block, last []byte) string {
	var out string
	take := func(b []byte) (reset bool) {
		for end := len(b); ; {
			i := bytes.LastIndex(b[:end], []byte("\x1b["))
			if i < 0 {
				return false
			}
			seq := b[i : i+sequenceEnd(b[i:])]
			end = i
			if seq[len(seq)-1] != 'm' || len(seq) > 40 {
				continue
			}
			if string(seq) == "\x1b[m" || string(seq) == "\x1b[0m" || len(out) > 400 {
				return true
			}
			out = string(seq) + out
		}
	}
	if take(last) {
		return out
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		if take(blocks[i].data) {
			break
		}
	}
	return out
}
