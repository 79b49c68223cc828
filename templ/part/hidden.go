package part

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// Invisible characters can disguise a text: a command can look like one and run another. Where people
// decide or review, their code points are shown; they stay in the text, so that it copies unchanged.

// hiddenName describes an invisible or misleading character; "" for every other.
func hiddenName(r rune) string {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C:
		return "changes the direction of text"
	case r >= 0x200B && r <= 0x200D, r == 0x2060, r == 0xFEFF, r == 0x180E, r == 0x00AD, r == 0x034F,
		r >= 0x2061 && r <= 0x2064, r >= 0x206A && r <= 0x206F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
		return "is not visible"
	case r >= 0xE0000 && r <= 0xE007F:
		return "is not visible"
	case r < 0x20 && r != '\n' && r != '\t' && r != '\r', r >= 0x7F && r < 0xA0:
		return "is a control character"
	}
	return ""
}

// Hidden counts invisible and misleading characters.
func Hidden(s string) (n int) {
	for _, r := range s {
		if hiddenName(r) != "" {
			n++
		}
	}
	return n
}

// appendText writes text into an element: escaped, with hidden characters marked.
func appendText(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7F || c == '\t' || c == '\n' || c == '\r' || c == 0 {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if name := hiddenName(r); name != "" {
			b = appendEscaped(b, s[from:i])
			b = fmt.Appendf(b, `<span class="hid" dir="ltr" data-u="U+%04X" title="U+%04X %s">`, r, r, name)
			b = append(b, s[i:i+n]...)
			b = append(b, "</span>"...)
			from = i + n
		}
		i += n
	}
	return appendEscaped(b, s[from:])
}

// Shown renders text with hidden characters marked.
func Shown(s string) templ.Component { return templ.Raw(string(appendText(nil, s))) }

// hiddenWarning returns an approval card's warning about hidden characters; "" without them.
func hiddenWarning(texts ...string) string {
	n := Hidden(strings.Join(texts, ""))
	switch n {
	case 0:
		return ""
	case 1:
		return "One character here is invisible or turns text around. It is marked."
	}
	return strconv.Itoa(n) + " characters here are invisible or turn text around. They are marked."
}
