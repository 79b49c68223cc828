package part

import (
	"strings"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// Syntax is how much of a diff is highlighted. Every highlighted word is an element, and elements are the cost of a
// large page: the more rows, the less highlighting. Changed words are always marked.
type Syntax int

// Syntax values, from all classes to none.
const (
	SyntaxAll  Syntax = iota
	SyntaxFew         // keywords of at least two letters, strings and comments of at least three, outside of changed words
	SyntaxNone        // only changed words
)

// SyntaxFor chooses by the rows of the whole page. Measured: a row has 4.4 elements with all classes, 3 with few.
func SyntaxFor(rows int) Syntax {
	switch {
	case rows <= 8_000:
		return SyntaxAll
	case rows <= 40_000:
		return SyntaxFew
	}
	return SyntaxNone
}

// class returns the class for a span; "" for none.
func (y Syntax) class(s diff.Span) string {
	n := s.End - s.Start
	if y == SyntaxAll || y == SyntaxFew && !s.Changed && (s.Class == "k" && n > 1 || n > 2 &&
		strings.Contains("sc", s.Class)) {
		return s.Class
	}
	return ""
}

// append writes a line with its spans; adjacent spans of the same look share an element.
func (y Syntax) append(b []byte, text string, spans []diff.Span) []byte {
	if text == "" {
		return append(b, '\n') // an empty row must copy as an empty line
	}
	at := 0
	for i := 0; i < len(spans) && spans[i].End <= len(text); i++ {
		s := spans[i]
		class := y.class(s)
		if class == "" && !s.Changed {
			continue
		}
		for i+1 < len(spans) && joins(text, s, spans[i+1]) && y.class(spans[i+1]) == class {
			i++
			s.End = spans[i].End
		}
		b = appendText(b, text[at:s.Start])
		b = appendSpan(b, text[s.Start:s.End], class, s.Changed)
		at = s.End
	}
	return appendText(b, text[at:])
}

// joins reports whether the next span can share an element: between them is nothing, or whitespace
// that shows no color.
func joins(text string, s, next diff.Span) bool {
	if next.End > len(text) || next.Changed != s.Changed {
		return false
	}
	return next.Start == s.End || !s.Changed && strings.TrimSpace(text[s.End:next.Start]) == ""
}

func appendSpan(b []byte, text, class string, changed bool) []byte {
	tag := byte('i')
	if changed {
		tag = 'b'
	}
	b = append(b, '<', tag)
	if class != "" {
		b = append(b, " class="...)
		b = append(b, class...)
	}
	b = append(b, '>')
	b = appendText(b, text)
	return append(b, '<', '/', tag, '>')
}

// appendEscaped writes text into HTML, in an element or a quoted attribute.
func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		var esc string
		switch s[i] {
		case '<':
			esc = "&lt;"
		case '>':
			esc = "&gt;"
		case '&':
			esc = "&amp;"
		case '"':
			esc = "&#34;"
		case '\r':
			esc = "&#13;"
		case 0:
			esc = "\uFFFD"
		default:
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, esc...)
		from = i + 1
	}
	return append(b, s[from:]...)
}
