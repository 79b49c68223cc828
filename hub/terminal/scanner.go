package terminal

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/machine"
)

// maxSequence bounds an escape sequence that is held back until it is whole.
// A longer one (an image, a clipboard) is passed on as it comes; a longer
// shell-integration sequence is dropped to its end.
const maxSequence = 8 << 10

type scanState uint8

const (
	ground     scanState = iota
	escape               // after ESC
	control              // in a CSI sequence
	text                 // in OSC, DCS, SOS, PM or APC: runs to its terminator
	textEsc              // ESC within one: the first half of its terminator, or a new sequence
	overflow             // in one that grew too long and is passed on
	overEsc              // ESC within that
	discard              // in a shell-integration sequence that grew too long
	discardEsc           // ESC within that
)

const (
	runeBEL = 0x07
	runeCAN = 0x18
	runeSUB = 0x1a
	runeESC = 0x1b
	runeDCS = 0x90
	runeSOS = 0x98
	runeCSI = 0x9b
	runeST  = 0x9c
	runeOSC = 0x9d
	runePM  = 0x9e
	runeAPC = 0x9f
)

// scanner cuts output into clean text and whole OSC payloads. The output it
// hands on is valid UTF-8, and so far whole: an unfinished character or sequence waits
// for its rest.
type scanner struct {
	// osc is told the payload of each whole OSC sequence in its place (all clean
	// text before it is in out) and says whether to take the sequence out.
	osc func(payload []byte) (strip bool)

	out   []byte // clean text since the last take
	modes modes  // as of the end of out
	state scanState
	isOSC bool
	held  []byte // the unfinished sequence, introducer included
	body  int    // where in held the payload begins
	cut   []byte // an unfinished character, at most 3 bytes
}

// take returns the clean text since the last take.
func (s *scanner) take() string {
	out := string(s.out)
	s.out = s.out[:0]
	return out
}

func (s *scanner) write(p []byte) {
	if len(s.cut) > 0 {
		p = append(s.cut, p...)
		s.cut = nil
	}
	for len(p) > 0 {
		if s.state == ground {
			n := plain(p)
			s.out = append(s.out, p[:n]...)
			if p = p[n:]; len(p) == 0 {
				return
			}
		}
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 && !utf8.FullRune(p) {
			s.cut = append([]byte(nil), p...)
			return
		}
		s.rune(r)
		p = p[n:]
	}
}

// plain returns the length of the ASCII run at the start of p that needs no look. It takes eight bytes at a time.
func plain(p []byte) int {
	const (
		ones   = 0x0101010101010101
		highs  = 0x80 * ones
		escape = runeESC * ones
	)
	i := 0
	for ; i+8 <= len(p); i += 8 {
		x := binary.LittleEndian.Uint64(p[i:])
		y := x ^ escape // a byte is zero where x has an ESC
		if (x|(y-ones)&^y)&highs != 0 {
			break
		}
	}
	for ; i < len(p) && p[i] != runeESC && p[i] < utf8.RuneSelf; i++ {
	}
	return i
}

// finish hands on what was held back: nothing more will come.
func (s *scanner) finish() {
	for range s.cut {
		s.rune(utf8.RuneError)
	}
	s.cut = nil
	if s.state != ground && !s.ours() {
		s.out = append(s.out, s.held...)
	}
	s.reset()
}

func (s *scanner) reset() { s.state, s.held = ground, s.held[:0] }

func (s *scanner) rune(r rune) {
	switch s.state {
	case ground:
		s.ground(r)
	case escape:
		s.escaped(r)
	case control:
		s.inControl(r)
	case text, textEsc:
		s.inText(r)
	default:
		s.inLong(r)
	}
}

func (s *scanner) ground(r rune) {
	switch r {
	case runeESC:
		s.begin(escape, r)
	case runeCSI:
		s.begin(control, r)
	case runeOSC, runeDCS, runeSOS, runePM, runeAPC:
		s.begin(text, r)
		s.isOSC, s.body = r == runeOSC, len(s.held)
	default:
		s.out = utf8.AppendRune(s.out, r)
	}
}

func (s *scanner) begin(st scanState, r rune) {
	s.state, s.held = st, utf8.AppendRune(s.held[:0], r)
}

// escaped takes the character after ESC, or an intermediate one.
func (s *scanner) escaped(r rune) {
	if s.interrupted(r) {
		return
	}
	s.held = utf8.AppendRune(s.held, r)
	if len(s.held) > 2 { // ESC, intermediates, final
		s.modes.noteEscape(s.held)
		s.endUnless(0x20 <= r && r <= 0x2f && len(s.held) < 16)
		return
	}
	switch r {
	case '[':
		s.state = control
	case ']', 'P', 'X', '^', '_':
		s.state, s.isOSC, s.body = text, r == ']', len(s.held)
	default:
		s.modes.noteEscape(s.held)
		s.endUnless(0x20 <= r && r <= 0x2f)
	}
}

func (s *scanner) inControl(r rune) {
	if s.interrupted(r) {
		return
	}
	s.held = utf8.AppendRune(s.held, r)
	switch r {
	case 'h', 'l', 'r', 'q', 'p':
		s.modes.note(s.held)
	}
	s.endUnless((r < 0x40 || r > 0x7e) && r < 0x80 && len(s.held) < 256)
}

// endUnless releases the held sequence to the output, whole, when it is over.
func (s *scanner) endUnless(more bool) {
	if !more {
		s.out = append(s.out, s.held...)
		s.reset()
	}
}

// interrupted deals with what ends any sequence early: ESC begins a new one,
// CAN and SUB cancel. What was held is dropped, as a terminal would: handed on,
// it could make a mark of what comes next.
func (s *scanner) interrupted(r rune) bool {
	switch r {
	case runeESC:
		s.begin(escape, r)
	case runeCAN, runeSUB:
		s.out = utf8.AppendRune(s.out, r)
		s.reset()
	default:
		return false
	}
	return true
}

func (s *scanner) inText(r rune) {
	switch {
	case s.state == textEsc && r == '\\':
		s.held = append(s.held, '\\')
		s.endText(len(s.held) - 2)
	case s.state == textEsc: // not a terminator: the sequence is broken off and ESC begins another
		s.begin(escape, runeESC)
		s.rune(r)
	case r == runeESC:
		s.state, s.held = textEsc, append(s.held, runeESC)
	case r == runeST, r == runeBEL && s.isOSC:
		end := len(s.held)
		s.held = utf8.AppendRune(s.held, r)
		s.endText(end)
	case r == runeCAN, r == runeSUB:
		s.interrupted(r)
	default:
		s.held = utf8.AppendRune(s.held, r)
		s.bound()
	}
}

// bound lets go of a sequence that became too long to hold.
func (s *scanner) bound() {
	if len(s.held) <= maxSequence {
		return
	}
	if s.ours() {
		s.state = discard
	} else {
		s.state = overflow
		s.out = append(s.out, s.held...)
	}
	s.held = s.held[:0]
}

func (s *scanner) endText(end int) {
	held, body := s.held, s.body
	isOSC := s.isOSC
	s.reset()
	if isOSC && s.osc != nil && s.osc(held[body:end]) {
		return
	}
	s.out = append(s.out, held...)
}

// ours reports whether the held sequence is one of shell integration, which must
// not reach the output even when it is broken or too long.
func (s *scanner) ours() bool {
	return (s.state == text || s.state == textEsc) && s.isOSC && isIntegration(s.held[s.body:])
}

// inLong follows a sequence that is too long to hold to its end.
func (s *scanner) inLong(r rune) {
	keep := s.state == overflow || s.state == overEsc
	switch {
	case s.state == overEsc || s.state == discardEsc:
		s.reset()
		switch {
		case r != '\\':
			if keep {
				s.out = append(s.out, runeCAN) // what was passed on ends here
			}
			s.begin(escape, runeESC)
			s.rune(r)
		case keep:
			s.out = append(s.out, runeESC, '\\')
		}
	case r == runeESC && keep:
		s.state = overEsc
	case r == runeESC:
		s.state = discardEsc
	default:
		if keep {
			s.out = utf8.AppendRune(s.out, r)
		}
		if r == runeST || r == runeCAN || r == runeSUB || r == runeBEL && s.isOSC {
			s.reset()
		}
	}
}

// isIntegration tells an OSC payload of shell integration by its number; of our own marks too,
// which no program may set.
func isIntegration(payload []byte) bool {
	n, _, _ := bytes.Cut(payload, []byte(";"))
	switch string(n) {
	case "7", "133", "633", machine.PlaceNumber:
		return true
	}
	return false
}
