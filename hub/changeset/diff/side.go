package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// side is one version as lines.
type side struct {
	text  string
	lines []string // without newlines
	open  bool     // the last line has no newline
}

func split(text string) side {
	s := side{text: text, open: text != "" && !strings.HasSuffix(text, "\n")}
	n := strings.Count(text, "\n")
	if s.open {
		n++
	}
	s.lines = make([]string, 0, n)
	for line := range strings.Lines(text) {
		s.lines = append(s.lines, strings.TrimSuffix(line, "\n"))
	}
	return s
}

func (s side) endsAt(line int) bool { return s.open && line == len(s.lines)-1 }

// squeezed is the text with every space gone, line by line, so that lines that differ in spaces are equal.
func (s side) squeezed() string {
	var b strings.Builder
	b.Grow(len(s.text))
	for _, line := range s.lines {
		for at, r := range line {
			if !unicode.IsSpace(r) {
				b.WriteString(line[at : at+runeLen(line[at:], r)])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// runeLen is the length of the rune s begins with; a byte that is not UTF-8 counts for itself.
func runeLen(s string, r rune) int {
	if r == utf8.RuneError {
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	return utf8.RuneLen(r)
}

const sectionBytes = 80

// section finds the line a hunk stands under: as in git, the last one before it that begins with a letter,
// an underscore or a dollar sign.
func section(before []string) string {
	for i := len(before) - 1; i >= 0; i-- {
		line := before[i]
		if line == "" {
			continue
		}
		if c := line[0]; c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' {
			return cut(strings.TrimRight(line, " \t\r"), sectionBytes)
		}
	}
	return ""
}

// cut shortens s to at most n bytes without splitting a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
