package diff

import (
	"strings"

	"github.com/ahphub/ahphub/hub/texts"
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

const sectionBytes = 80

// section finds the heading of a hunk as git does: the last line before it that starts with a
// letter, an underscore or a dollar sign.
func section(before []string) string {
	for i := len(before) - 1; i >= 0; i-- {
		line := before[i]
		if line == "" {
			continue
		}
		if c := line[0]; c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' {
			return texts.CutBytes(strings.TrimRight(line, " \t\r"), sectionBytes)
		}
	}
	return ""
}
