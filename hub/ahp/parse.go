package ahp

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const maxDepth = 256

// cursor parses JSON text in one pass. It also validates what it skips.
type cursor struct {
	b     []byte
	i     int
	depth int
}

func (d *cursor) fail(what string) error { return fmt.Errorf("JSON: %s at byte %d", what, d.i) }

// peek returns the next byte that is not whitespace, or 0 at the end.
func (d *cursor) peek() byte {
	for d.i < len(d.b) {
		switch c := d.b[d.i]; c {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return c
		}
	}
	return 0
}

func (d *cursor) literal(s string) bool {
	d.peek()
	if len(d.b)-d.i < len(s) || string(d.b[d.i:d.i+len(s)]) != s {
		return false
	}
	d.i += len(s)
	return true
}

func (d *cursor) null() bool { return d.peek() == 'n' && d.literal("null") }

// object calls each with every key in turn; each must consume the value.
func (d *cursor) object(each func(key string) error) error {
	return d.container('{', '}', func() error {
		key, err := d.str()
		if err != nil {
			return err
		}
		if d.peek() != ':' {
			return d.fail("expected ':'")
		}
		d.i++
		return each(key)
	})
}

func (d *cursor) array(each func() error) error { return d.container('[', ']', each) }

func (d *cursor) container(open, end byte, each func() error) error {
	if d.peek() != open {
		return d.fail(fmt.Sprintf("expected %q", open))
	}
	if d.depth++; d.depth > maxDepth {
		return d.fail("nested too deep")
	}
	d.i++
	for first := true; ; first = false {
		c := d.peek()
		if c == end && first {
			break
		}
		if err := each(); err != nil {
			return err
		}
		if c = d.peek(); c == end {
			break
		}
		if c != ',' {
			return d.fail(fmt.Sprintf("expected ',' or %q", end))
		}
		d.i++
	}
	d.i++
	d.depth--
	return nil
}

// raw consumes one value and returns its text, a part of the input.
func (d *cursor) raw() ([]byte, error) {
	d.peek()
	start := d.i
	err := d.skip()
	return d.b[start:d.i], err
}

// copyRaw consumes one value and returns a well-formed copy of its text. States and journal rows
// written before frames were checked hold values that are not well-formed.
func (d *cursor) copyRaw() ([]byte, error) {
	raw, err := d.raw()
	if err != nil {
		return nil, err
	}
	return bytes.Clone(wellFormed(raw)), nil
}

func (d *cursor) skip() error {
	switch c := d.peek(); c {
	case '{':
		return d.object(func(string) error { return d.skip() })
	case '[':
		return d.array(d.skip)
	case '"':
		_, err := d.scanString()
		return err
	case 't', 'f', 'n':
		if d.literal("true") || d.literal("false") || d.literal("null") {
			return nil
		}
		return d.fail("bad literal")
	default:
		_, err := d.number()
		return err
	}
}

// lookahead returns the string value of key in the object ahead, without consuming it.
func (d *cursor) lookahead(key string) (value string, ok bool) {
	if d.peek() != '{' {
		return "", false
	}
	ahead := *d
	_ = ahead.object(func(k string) error {
		if k == key && ahead.peek() == '"' {
			var err error
			value, err = ahead.str()
			ok = err == nil
			return errFound
		}
		return ahead.skip()
	})
	return value, ok
}

var errFound = fmt.Errorf("found")

func (d *cursor) number() (string, error) {
	d.peek()
	start := d.i
	if d.i < len(d.b) && d.b[d.i] == '-' {
		d.i++
	}
	whole := d.digits()
	ok := whole > 0 && (whole == 1 || d.b[d.i-whole] != '0')
	if ok && d.i < len(d.b) && d.b[d.i] == '.' {
		d.i++
		ok = d.digits() > 0
	}
	if ok && d.i < len(d.b) && (d.b[d.i] == 'e' || d.b[d.i] == 'E') {
		d.i++
		if d.i < len(d.b) && (d.b[d.i] == '+' || d.b[d.i] == '-') {
			d.i++
		}
		ok = d.digits() > 0
	}
	if !ok {
		d.i = start
		return "", d.fail("expected a value of another type")
	}
	return string(d.b[start:d.i]), nil
}

func (d *cursor) digits() (n int) {
	for d.i < len(d.b) && d.b[d.i] >= '0' && d.b[d.i] <= '9' {
		d.i++
		n++
	}
	return n
}

// scanString moves past a string and reports whether it is plain: no escapes, valid UTF-8.
func (d *cursor) scanString() (plain bool, err error) {
	if d.peek() != '"' {
		return false, d.fail("expected a string")
	}
	start := d.i + 1
	plain = true
	for d.i = start; d.i < len(d.b); d.i++ {
		switch c := d.b[d.i]; {
		case c == '"':
			d.i++
			return plain && utf8.Valid(d.b[start:d.i-1]), nil
		case c == '\\':
			plain = false
			if d.i++; !d.escapeOK() {
				return false, d.fail("bad escape")
			}
		case c < ' ':
			return false, d.fail("control character in a string")
		}
	}
	return false, d.fail("unfinished string")
}

// escapeOK checks the character after a backslash, and the digits after \u.
func (d *cursor) escapeOK() bool {
	if d.i >= len(d.b) {
		return false
	}
	switch d.b[d.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		_, ok := hex4(d.b, d.i+1)
		return ok
	}
	return false
}

func hex4(b []byte, at int) (rune, bool) {
	if at+4 > len(b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[at:at+4]), 16, 32)
	return rune(n), err == nil
}

func (d *cursor) str() (string, error) {
	d.peek()
	start := d.i + 1
	plain, err := d.scanString()
	if err != nil {
		return "", err
	}
	text := d.b[start : d.i-1]
	if plain {
		return string(text), nil
	}
	return unescape(text), nil
}

// unescape resolves escapes already checked by scanString; invalid characters become U+FFFD.
func unescape(text []byte) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\' && text[i+1] == 'u':
			r, n := unescapeRune(text[i:])
			out = utf8.AppendRune(out, r)
			i += n
		case c == '\\':
			out = append(out, unescapeByte(text[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(text[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return string(out)
}

func unescapeRune(text []byte) (rune, int) {
	r, _ := hex4(text, 2)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		low, _ := hex4(text, 8)
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func unescapeByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
