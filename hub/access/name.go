package access

import (
	"errors"
	"strings"
	"unicode"

	"github.com/ahphub/ahphub/hub/texts"
)

const longestName = 60

// CleanName returns a name fit for a page: one line, no invisible characters, at most 60
// characters.
func CleanName(s string) (string, error) {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	s = texts.OneLine(s)
	s = strings.TrimSpace(texts.CutRunes(s, longestName))
	if s == "" {
		return "", errors.New("enter a name. Others see it next to your comments")
	}
	return s, nil
}
