package terminal

import (
	"slices"
	"strconv"
	"strings"
)

// modes tracks the modes that a program has set, as far as a screen drawn from the middle of its
// output needs them: full-screen programs set modes once, at their start. A copy is a snapshot:
// note never changes data that copies share.
type modes struct {
	on     []int     // private modes, in the order they were set
	region [2]string // scrolling regions of both screens, as "top;bottom"
	cursor string    // the cursor's shape, a number
	lines  bool      // letters are drawn as lines (G0 is the line-drawing set)
	keypad bool      // application keypad
}

// kept are the tracked modes: cursor keys, wrapping and the visible cursor (both on by default, so
// on lists them when off), alternate screens, keypad, mouse, focus, bracketed paste.
var kept = []int{1, 7, 25, 47, 66, 1000, 1002, 1003, 1004, 1006, 1015, 1047, 1049, 2004}

var (
	usuallyOn  = []int{7, 25}
	alternates = []int{47, 1047, 1049}
)

// note handles a complete CSI sequence.
func (m *modes) note(seq []byte) {
	s, ok := strings.CutPrefix(string(seq), "\x1b[")
	if !ok || len(s) < 1 {
		return
	}
	body, final := s[:len(s)-1], s[len(s)-1]
	private := strings.HasPrefix(body, "?")
	switch {
	case private && (final == 'h' || final == 'l'):
		m.private(body[1:], final == 'h')
	case final == 'r' && !private && plainParams(body):
		m.region[m.screen()] = body
	case final == 'q' && strings.HasSuffix(body, " ") && plainParams(body[:len(body)-1]):
		m.cursor = body[:len(body)-1]
	case final == 'p' && body == "!":
		m.reset()
	}
}

// noteEscape handles a complete ESC sequence other than CSI.
func (m *modes) noteEscape(seq []byte) {
	switch string(seq) {
	case "\x1bc":
		m.reset()
	case "\x1b(0":
		m.lines = true
	case "\x1b(B":
		m.lines = false
	case "\x1b=":
		m.keypad = true
	case "\x1b>":
		m.keypad = false
	}
}

func (m *modes) reset() { *m = modes{} }

func plainParams(s string) bool {
	return len(s) <= 16 && strings.Trim(s, "0123456789;") == ""
}

func (m *modes) private(params string, set bool) {
	for p := range strings.SplitSeq(params, ";") {
		n, err := strconv.Atoi(p)
		if err != nil || !slices.Contains(kept, n) {
			continue
		}
		was := m.screen()
		m.set(n, set != slices.Contains(usuallyOn, n))
		if now := m.screen(); now == 1 && was == 0 {
			m.region[1] = ""
		}
	}
}

func (m *modes) set(n int, on bool) {
	drop := func(o int) bool {
		return o == n || !on && slices.Contains(alternates, n) && slices.Contains(alternates, o)
	}
	m.on = slices.DeleteFunc(slices.Clone(m.on), drop)
	if on {
		m.on = append(m.on, n)
	}
}

// screen returns 1 while the alternate screen is shown.
func (m *modes) screen() int {
	if slices.ContainsFunc(m.on, func(n int) bool { return slices.Contains(alternates, n) }) {
		return 1
	}
	return 0
}

// dropRegions drops the scrolling regions, which end when the size changes.
func (m *modes) dropRegions() { m.region = [2]string{} }

// String returns the sequences that bring a fresh terminal into these modes.
func (m modes) String() string {
	var b strings.Builder
	for _, n := range m.on {
		if slices.Contains(alternates, n) {
			b.WriteString(switchTo(n, true))
		}
	}
	if r := m.region[m.screen()]; r != "" {
		b.WriteString("\x1b[" + r + "r")
	}
	b.WriteString(m.rest())
	return b.String()
}

// rest returns the sequences of modes that select neither a screen nor a region.
func (m modes) rest() string {
	var b strings.Builder
	for _, n := range m.on {
		if !slices.Contains(alternates, n) {
			b.WriteString(switchTo(n, !slices.Contains(usuallyOn, n)))
		}
	}
	if m.cursor != "" {
		b.WriteString("\x1b[" + m.cursor + " q")
	}
	if m.lines {
		b.WriteString("\x1b(0")
	}
	if m.keypad {
		b.WriteString("\x1b=")
	}
	return b.String()
}

func switchTo(n int, set bool) string {
	final := "l"
	if set {
		final = "h"
	}
	return "\x1b[?" + strconv.Itoa(n) + final
}
