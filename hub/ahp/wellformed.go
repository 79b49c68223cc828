package ahp

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// wellFormed returns raw, a JSON value, with bytes that are not UTF-8 and escapes of lone
// surrogates replaced by U+FFFD. Open values are kept as they were sent, and one such byte closes
// the WebSocket of every browser that receives it. Without any, it returns raw itself.
func wellFormed(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	var out []byte // nil until the first replacement
	done := 0      // bytes of raw that are in out
	for i := 0; i < len(raw)-1; {
		if raw[i] != '\\' {
			i++
			continue
		}
		size, lone := escapeSize(raw[i:])
		if lone {
			out = append(append(out, raw[done:i]...), `\ufffd`...)
			done = i + size
		}
		i += size
	}
	if out == nil {
		return raw
	}
	return append(out, raw[done:]...)
}

// escapeSize returns the length of the escape at the start of text, with both halves of a surrogate
// pair, and whether it is a lone surrogate.
func escapeSize(text []byte) (size int, lone bool) {
	r, ok := rune(0), text[1] == 'u'
	if ok {
		r, ok = hex4(text, 2)
	}
	if !ok {
		return 2, false
	}
	if !utf16.IsSurrogate(r) {
		return 6, false
	}
	r, size = unescapeRune(text)
	return size, r == utf8.RuneError
}
