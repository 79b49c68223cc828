// Package texts makes texts fit where they are shown: on one line, within a number of bytes or characters.
package texts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns s on one line: without whitespace around it, and with one space for each run of
// whitespace in it. Bytes that are not UTF-8 become U+FFFD, as files and programs may contain any.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// CutBytes returns the longest prefix of s that has at most n bytes and ends with a whole
// character. Bytes that are not UTF-8 stay as they are, so that offsets into the result are offsets
// into s.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > 0 && n-end < utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// ElideBytes returns s, or if it is longer, CutBytes of it with an ellipsis, which n does not
// count.
func ElideBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return CutBytes(s, n) + "…"
}

// CutRunes returns the first n characters of s.
func CutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// ElideRunes returns s, or a prefix with an ellipsis of at most n characters in total. No
// whitespace precedes the ellipsis.
func ElideRunes(s string, n int) string {
	if len(CutRunes(s, n)) == len(s) {
		return s
	}
	return strings.TrimRightFunc(CutRunes(s, n-1), unicode.IsSpace) + "…"
}
