package redact

import "bytes"

// mostShown limits the held bytes that are shown when a program pauses: a prompt must be visible
// even if its end looks like the start of a secret.
const mostShown = 3

// Stream hides secrets in a stream of pieces. It holds back bytes that may start a secret until
// that is decided.
type Stream struct {
	set   *Set
	held  []byte // may start a secret
	shown int    // bytes of held that were already returned
}

// NewStream returns a stream; nil for a nil Set.
func (s *Set) NewStream() *Stream {
	if s == nil {
		return nil
	}
	return &Stream{set: s}
}

// Write adds a piece and returns the bytes to show, which share no memory with the piece.
func (st *Stream) Write(piece []byte) []byte {
	data := piece
	if len(st.held) > 0 {
		data = append(st.held, piece...)
	}
	out := make([]byte, 0, len(data))
	at := 0
	for i := 0; i < len(data); {
		if i+1 < len(data) && !st.set.begins(pair(data[i], data[i+1])) {
			i++
			continue
		}
		n, size, wait := st.set.match(data[i:])
		switch {
		case wait:
			out = st.show(out, data[at:i])
			st.held = bytes.Clone(data[i:])
			return out
		case n != nil:
			out = st.show(out, data[at:i])
			out = append(out, n.shown...)
			st.shown = 0
			i += size
			at = i
		default:
			i++
		}
	}
	out = st.show(out, data[at:])
	st.held = nil
	return out
}

// show appends text without the bytes that were already returned.
func (st *Stream) show(out, text []byte) []byte {
	n := min(st.shown, len(text))
	st.shown -= n
	return append(out, text[n:]...)
}

// match returns the longest needle at the start of data, and how many bytes it takes. wait is true
// if a longer one may follow.
func (s *Set) match(data []byte) (found *needle, size int, wait bool) {
	if len(data) == 1 {
		return nil, 0, s.firsts[data[0]]
	}
	list := s.needles[pair(data[0], data[1])]
	for i := range list {
		size, more := list[i].find(data)
		if size > 0 {
			return &list[i], size, wait
		}
		wait = wait || more
	}
	return nil, 0, wait
}

// IsHolding reports whether Pause would return something.
func (st *Stream) IsHolding() bool { return st != nil && min(len(st.held), mostShown) > st.shown }

// Pause returns the held bytes to show when the program pauses. They still count as part of a
// secret that is completed later.
func (st *Stream) Pause() []byte {
	n := min(len(st.held), mostShown)
	if n <= st.shown {
		return nil
	}
	out := bytes.Clone(st.held[st.shown:n])
	st.shown = n
	return out
}

// Close returns the remaining bytes. It hides an incomplete secret if at least half of it is there.
func (st *Stream) Close() []byte {
	data, at := st.held, 0
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		n, size := st.set.rest(data[i:])
		if n == nil {
			i++
			continue
		}
		out = append(st.show(out, data[at:i]), n.shown...)
		st.shown = 0
		i += size
		at = i
	}
	out = st.show(out, data[at:])
	st.held = nil
	return out
}

// rest returns the longest needle that data starts with, or that data is at least the first half
// of, and how many bytes it takes.
func (s *Set) rest(data []byte) (*needle, int) {
	if len(data) < 2 {
		return nil, 0
	}
	list := s.needles[pair(data[0], data[1])]
	for i := range list {
		n := &list[i]
		size, more := n.find(data)
		if size > 0 {
			return n, size
		}
		if more && len(data) >= leastEncoded && 2*len(data) >= len(n.text) {
			return n, len(data)
		}
	}
	return nil, 0
}
