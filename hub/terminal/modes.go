package terminal

import (
	"slices"
	"strconv"
	"strings"
)

// modes remembers the private modes a program has switched, as far as a screen
// drawn from the middle of its output would be wrong without them: a full-screen
// program says them once, at its start.
type modes struct{ on []int }

// kept are the modes worth it: cursor keys, the hidden cursor (a mode that is on
// by default, so here "on" is off), alternate screens, mouse, bracketed paste.
var kept = []int{1, 25, 47, 1000, 1002, 1003, 1006, 1047, 1049, 2004}

const cursorMode = 25

// note takes a whole CSI sequence.
func (m *modes) note(seq []byte) {
	s, ok := strings.CutPrefix(string(seq), "\x1b[?")
	if !ok || len(s) < 2 {
		return
	}
	final := s[len(s)-1]
	if final != 'h' && final != 'l' {
		return
	}
	for p := range strings.SplitSeq(s[:len(s)-1], ";") {
		if n, err := strconv.Atoi(p); err == nil && slices.Contains(kept, n) {
			m.set(n, (final == 'h') != (n == cursorMode))
		}
	}
}

func (m *modes) set(n int, on bool) {
	m.on = slices.DeleteFunc(m.on, func(o int) bool { return o == n })
	if on {
		m.on = append(m.on, n)
	}
}

// String is what brings a fresh terminal into these modes.
func (m *modes) String() string {
	var b strings.Builder
	for _, n := range m.on {
		final := "h"
		if n == cursorMode {
			final = "l"
		}
		b.WriteString("\x1b[?" + strconv.Itoa(n) + final)
	}
	return b.String()
}
