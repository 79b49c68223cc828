package terminal

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/machine"
)

// maxSequence bounds an escape sequence that is held back until it is complete. A longer one (an image, a clipboard) is
// passed on in pieces; a longer shell-integration sequence is dropped to its end.
const maxSequence = 8 << 10

type scanState uint8

const (
	ground     scanState = iota
	escape               // after ESC
	control              // in a CSI sequence
	text                 // in OSC, DCS, SOS, PM or APC: extends to its terminator
	textEsc              // ESC in text: the first half of its terminator, or a new sequence
	overflow             // in text that exceeds the limit and is passed on
	overEsc              // ESC in overflow
	discard              // in a shell-integration sequence that exceeds the limit
	discardEsc           // ESC in discard
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

// scanner splits output into clean text and complete OSC payloads. Its output is valid UTF-8 and complete: an
// unfinished character or sequence waits for its rest.
type scanner struct {
	// osc receives the payload of each complete OSC sequence, once all text before it is in out, and reports whether to
	// remove the sequence.
	osc func(payload []byte) (strip bool)

	out   []byte // clean text since the last take
	modes modes  // at the end of out
	state scanState
	isOSC bool
	held  []byte // the unfinished sequence, introducer included
	body  int    // where the payload begins in held
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

// plain returns the length of the ASCII run at the start of p without ESC. It checks eight bytes at a time.
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

// finish passes on held back output at the end of the input.
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

// escaped handles the character after ESC, or an intermediate one.
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

// endUnless passes the held sequence on if it is complete.
func (s *scanner) endUnless(more bool) {
	if !more {
		s.out = append(s.out, s.held...)
		s.reset()
	}
}

// interrupted handles characters that end any sequence early: ESC begins a new one, CAN and SUB cancel. It drops the
// held sequence, as a terminal would: passed on, it could turn later text into a mark.
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
	case s.state == textEsc: // not a terminator: the sequence ends and ESC begins a new one
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

// bound stops holding a sequence that became too long.
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

// ours reports whether the held sequence is shell integration, which must not reach the output even if it is broken or
// too long.
func (s *scanner) ours() bool {
	return (s.state == text || s.state == textEsc) && s.isOSC && isIntegration(s.held[s.body:])
}

// inLong handles a character of a sequence that is too long to hold.
func (s *scanner) inLong(r rune) {
	keep := s.state == overflow || s.state == overEsc
	switch {
	case s.state == overEsc || s.state == discardEsc:
		s.reset()
		switch {
		case r != '\\':
			if keep {
				s.out = append(s.out, runeCAN) // ends the part that was passed on
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

// isIntegration reports whether an OSC payload is shell integration, by its number, or a mark of the hub, which no
// program may set.
func isIntegration(payload []byte) bool {
	n, _, _ := bytes.Cut(payload, []byte(";"))
	switch string(n) {
	case "7", "133", "633", machine.PlaceNumber:
		return true
	}
	return false
}
