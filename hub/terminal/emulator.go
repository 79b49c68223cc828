package terminal

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// scrollbackLines bounds the lines above the screen in a picture.
const scrollbackLines = 1000

// emulator is a terminal's screen in memory, created for one picture and then discarded.
type emulator struct {
	vt    *vt.Emulator
	drain sync.WaitGroup
	full  bool // a wide character was just written into the last two columns
	bad   bool // the library panicked: the screen is unusable

	places places
}

func newEmulator(cols, rows int) *emulator {
	e := &emulator{vt: vt.NewEmulator(cols, rows)}
	e.vt.SetScrollbackSize(2 * scrollbackLines) // one pass may add as many lines as are kept
	e.followPlaces()
	e.vt.RegisterCsiHandler('J', func(p ansi.Params) bool {
		e.dropErasedPlaces(p)
		if n, _, _ := p.Param(0, 0); n != 3 {
			return false
		}
		e.places.dropped = e.top()
		e.vt.ClearScrollback() // the library would clear the screen as well
		return true
	})
	e.drain.Go(func() { _, _ = io.Copy(io.Discard, e.vt) }) // its answers to a program's queries
	return e
}

func (e *emulator) close() {
	if w, ok := e.vt.InputPipe().(*io.PipeWriter); ok {
		_ = w.Close()
	}
	e.drain.Wait()
}

// write applies output. It rewrites erasing of the screen, because the library would move erased
// lines into the scrollback.
func (e *emulator) write(b []byte) {
	defer func() {
		if recover() != nil { // a bug in the library
			e.bad = true
		}
	}()
	if e.bad {
		return
	}
	b = boundRepeatCounts(b)
	for b = bytes.ReplaceAll(b, []byte("\x1b[2J"), []byte("\x1b[1J\x1b[J")); len(b) > 0; {
		var n int
		switch {
		case b[0] == runeESC:
			n = sequenceLen(b)
			e.pass(b[:n])
		case b[0] < utf8.RuneSelf:
			n = min(plain(b), scrollbackLines)
			e.wrap(b[0] >= ' ')
			e.pass(b[:n])
		default:
			n = e.cluster(b)
		}
		b = b[n:]
	}
}

// boundRepeatCounts bounds the repeat counts of sequences, which the library would execute. No
// terminal is larger.
func boundRepeatCounts(b []byte) []byte {
	return longControl.ReplaceAllFunc(b, func(seq []byte) []byte {
		if final := seq[len(seq)-1]; final == 'h' || final == 'l' {
			return seq // mode numbers
		}
		return append([]byte{runeESC}, manyDigits.ReplaceAll(controlInside.ReplaceAll(seq[1:], nil), []byte("1000"))...)
	})
}

var (
	longControl   = regexp.MustCompile(`\x1b\[[^@-~\x1b]{4,}[@-~]`)
	controlInside = regexp.MustCompile(`[\x00-\x1f]`)
	manyDigits    = regexp.MustCompile(`[0-9]{4,}`)
)

func (e *emulator) pass(b []byte) {
	_, _ = e.vt.Write(b)
	e.full = false
	e.trim()
}

// sequenceLen returns how many bytes of b, which begins with ESC, must be passed at once: all of a
// string.
func sequenceLen(b []byte) int {
	if len(b) < 2 || !strings.ContainsRune("]PX^_", rune(b[1])) {
		return min(len(b), 2)
	}
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] == runeBEL && b[1] == ']', b[i] == runeCAN, b[i] == runeSUB:
			return i + 1
		case b[i] == runeESC && i+1 < len(b) && b[i+1] == '\\':
			return i + 2
		case b[i] == runeESC:
			return i
		}
	}
	return len(b)
}

// cluster writes one non-ASCII character with its marks, and returns its length. The library loses
// a mark after an ASCII letter, and a wide character at the end of a line.
func (e *emulator) cluster(b []byte) int {
	c, width := ansi.FirstGraphemeCluster(b, ansi.GraphemeWidth)
	at := e.vt.CursorPosition()
	if width == 0 {
		if before := e.vt.CellAt(at.X-1, at.Y); before != nil && len(before.Content) < 64 {
			with := before.Clone()
			with.Content += string(c)
			e.vt.SetCell(at.X-1, at.Y, with)
		}
		return len(c)
	}
	e.wrap(width == 1)
	if width == 2 && at.X == e.vt.Width()-1 {
		e.pass([]byte("\r\x1bD"))
		at.X = 0
	}
	e.pass(c)
	e.full = width == 2 && at.X == e.vt.Width()-2
	return len(c)
}

// wrap begins a new line if a wide character has filled this one and more follows.
func (e *emulator) wrap(printed bool) {
	if printed && e.full {
		e.pass([]byte("\r\x1bD"))
	}
}

func (e *emulator) say(s string) { e.write([]byte(s)) }

// history returns the lines above the screen as plain text.
func (e *emulator) history() string {
	var b strings.Builder
	for _, l := range e.vt.Scrollback().Lines() {
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return b.String()
}

// plain returns the visible screen as plain text.
func (e *emulator) plain() string {
	var b strings.Builder
	for y := range e.vt.Height() {
		b.WriteString(strings.TrimRight(e.line(y).String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (e *emulator) line(y int) uv.Line {
	l := make(uv.Line, e.vt.Width())
	for x := range l {
		if c := e.vt.CellAt(x, y); c != nil {
			l[x] = *c
		}
	}
	return l
}

// screen draws the lines of the visible screen, each at its position. On the main screen the first
// has a number.
func (e *emulator) screen(top int) string {
	var b strings.Builder
	for y := range e.vt.Height() {
		s := e.line(y).Render()
		if top >= 0 {
			s = e.place(top+y) + s
		}
		if s != "" {
			fmt.Fprintf(&b, "\x1b[%dH%s", y+1, s)
		}
	}
	return b.String()
}

// scrollback draws the newest lines above the screen, at most n bytes, and leaves space below.
func (e *emulator) scrollback(n int) string {
	lines := e.vt.Scrollback().Lines()
	var out []string
	for i := len(lines) - 1; i >= 0; i-- {
		s := e.place(e.places.dropped+i) + lines[i].Render() + "\r\n"
		if n -= len(s); n < 0 {
			break
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return ""
	}
	var b strings.Builder
	for i := len(out) - 1; i >= 0; i-- {
		b.WriteString(out[i])
	}
	return b.String() + strings.Repeat("\r\n", e.vt.Height()-1)
}

// cursor returns the sequence that restores the visible cursor's position and colours. It finds
// them by writing, which corrupts the screen.
func (e *emulator) cursor() string {
	at := e.vt.CursorPosition()
	var last string
	from := at.X
	if at.X == e.vt.Width()-1 {
		l := e.line(at.Y)
		if from > 0 && l[from].IsZero() { // the second half of a wide character
			from--
		}
		last = l[from:].Render()
	}
	e.say("X")
	now := e.vt.CursorPosition()
	wrapped := last != "" && now.X == 1
	if wrapped { // the last column is full: writing it again restores that
		last = fmt.Sprintf("\x1b[%d;%dH%s", at.Y+1, from+1, last)
		at = now
		at.X--
	} else {
		last = fmt.Sprintf("\x1b[%d;%dH", at.Y+1, at.X+1)
	}
	if c := e.vt.CellAt(at.X, at.Y); c != nil && !c.Style.IsZero() {
		last += c.Style.String()
	}
	return last
}

// drawFrom applies output to base (or to a fresh terminal) and draws the result. It returns nil
// once vain reports that the result is useless.
func drawFrom(base *picture, at int64, blocks []block, m modes, cols, rows int, vain func() bool) *picture {
	p := &picture{modes: m, cols: cols, rows: rows}
	from := block{cols: cols, rows: rows}
	if len(blocks) > 0 {
		from = blocks[0]
	}
	if base != nil {
		from = block{cols: base.cols, rows: base.rows}
	}
	begin := from.modes.String()
	if base != nil {
		begin = string(base.text)
	}
	if skipTo, rest, there, ok := forward(blocks, rows); ok && skipTo > at {
		at, blocks, begin = skipTo, rest, there
		from = blocks[0]
	}
	e := newEmulator(from.cols, from.rows)
	defer e.close()
	e.say(begin)
	for _, b := range blocks {
		if vain() {
			return nil
		}
		e.fit(b.cols, b.rows)
		e.write(b.data[max(0, at-b.at):])
	}
	e.fit(cols, rows)
	p.draw(e)
	return p
}

func (e *emulator) fit(cols, rows int) {
	if cols != e.vt.Width() || rows != e.vt.Height() {
		e.vt.Resize(cols, rows)
	}
}

// draw converts the emulator's screens to text. It corrupts the emulator.
func (p *picture) draw(e *emulator) {
	p.plain, p.drawn = e.plain(), true
	_, _ = e.vt.WriteString("\x1b[?6l") // positions count from the corner
	var alt string
	if e.vt.IsAltScreen() {
		alt = "\x1b[?1049h" + e.screen(-1) + region(p.modes.region[1]) + e.cursor()
		e.say("\x1b[?1047l")
	}
	main := e.screen(e.top()) + region(p.modes.region[0])
	room := max(0, mostPicture-len(main)-len(alt))
	main = e.scrollback(room) + main
	cursor := e.cursor()
	e.say("\x1b8")
	saved := e.cursor()
	p.text = []byte(main + saved + "\x1b7\x1b[m" + cursor + alt + p.modes.rest())
}

func region(r string) string {
	if r == "" {
		return ""
	}
	return "\x1b[" + r + "r"
}
