package redact

import "bytes"

// mostShown is how many bytes of what may become a secret are shown when a program pauses: people type behind a prompt
// whose end looks like the beginning of one.
const mostShown = 3

// Stream hides secrets in what arrives in pieces. What may be the beginning of a secret is held back until it is known.
type Stream struct {
	set   *Set
	held  []byte // may begin a secret
	shown int    // bytes of it that were returned already
}

// NewStream returns a stream; nil for a nil Set.
func (s *Set) NewStream() *Stream {
	if s == nil {
		return nil
	}
	return &Stream{set: s}
}

// Write takes a piece and returns what can be shown. It shares no bytes with the piece.
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

// show appends what is no secret, but for what was returned already.
func (st *Stream) show(out, text []byte) []byte {
	n := min(st.shown, len(text))
	st.shown -= n
	return append(out, text[n:]...)
}

// match returns the longest needle that data begins with, and how many bytes it takes. wait is true when a longer one may
// follow.
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

// Pause returns what is shown of the held bytes when the program prints nothing more for a while. It still is part of a
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

// Close returns what is left. The beginning of a secret whose end is missing is hidden when it is half of it or more.
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

// rest returns the longest needle that data begins with, or half of which is all of data; and how many bytes it takes.
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
