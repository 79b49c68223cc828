package ahp

import (
	"sync/atomic"
	"unsafe"
)

// Text is streamed text: a view of append-only bytes. Copying one is cheap, appending is amortised
// O(1), and older views do not change while newer ones grow, so readers need no lock. Bytes are
// kept as appended: a rune cut in two by the stream is whole again once both halves have arrived.
type Text struct {
	buf *textBuffer
	n   int
}

// textBuffer is shared by all views of one stream. Bytes below used are never written again; the
// view that ends exactly at used may claim the room after it, other views copy.
type textBuffer struct {
	used  atomic.Int64
	bytes []byte // len is the capacity
}

// NewText returns a text of s.
func NewText(s string) Text {
	if s == "" {
		return Text{}
	}
	return grow(nil, s)
}

// Append returns t followed by s. t does not change.
func (t Text) Append(s string) Text {
	if s == "" {
		return t
	}
	end := t.n + len(s)
	if t.buf == nil || end > len(t.buf.bytes) || !t.buf.used.CompareAndSwap(int64(t.n), int64(end)) {
		return grow(t.Bytes(), s)
	}
	copy(t.buf.bytes[t.n:end], s)
	return Text{t.buf, end}
}

// longText is the length from which saving memory matters more than copying less often.
const longText = 1 << 20

// grow starts a new buffer. A text that is appended to gets twice the room it needs, a long one a
// quarter more. A first text gets just its size, as most are never appended to.
func grow(old []byte, s string) Text {
	n := len(old) + len(s)
	size := n
	switch {
	case len(old) > longText:
		size = n + n/4
	case len(old) > 0:
		size = max(2*n, 64)
	}
	buf := &textBuffer{bytes: make([]byte, size)}
	copy(buf.bytes, old)
	copy(buf.bytes[len(old):], s)
	buf.used.Store(int64(n))
	return Text{buf, n}
}

// Clip returns a finished text without room to grow. It copies only if that frees more than an
// eighth.
func (t Text) Clip() Text {
	if t.n == 0 {
		return Text{}
	}
	if len(t.buf.bytes) <= t.n+t.n/8 {
		return t
	}
	return NewText(t.String())
}

// Len returns the length in bytes.
func (t Text) Len() int { return t.n }

// IsZero reports whether the text is empty.
func (t Text) IsZero() bool { return t.n == 0 }

// Bytes returns the bytes. The caller must not modify them.
func (t Text) Bytes() []byte {
	if t.n == 0 {
		return nil
	}
	return t.buf.bytes[:t.n:t.n]
}

// String returns the text without copying it: the bytes of a view never change.
func (t Text) String() string {
	if t.n == 0 {
		return ""
	}
	return unsafe.String(&t.buf.bytes[0], t.n)
}

// MarshalJSON writes a string; bytes that are not UTF-8 become U+FFFD only here.
func (t Text) MarshalJSON() ([]byte, error) { return appendString(nil, t.String()), nil }

// UnmarshalJSON reads a string.
func (t *Text) UnmarshalJSON(b []byte) error { return Unmarshal(b, t) }
