package review

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Person is a visitor of a session.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Mentions returns the people mentioned as @Name in a comment, each once. Code is skipped. Of names
// with a common beginning the longest match wins.
func Mentions(text string, people []Person) (out []Person) {
	for _, prose := range proseOf(text) {
		for at := range prose {
			if prose[at] != '@' || wordBefore(prose, at) {
				continue
			}
			for _, p := range matchNames(prose[at+1:], people) {
				if !slices.Contains(out, p) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// matchNames returns the people whose name a text begins with; two may have the same.
func matchNames(text string, people []Person) (out []Person) {
	longest := 0
	for _, p := range people {
		n := len(p.Name)
		if n == 0 || n < longest || len(text) < n || !strings.EqualFold(text[:n], p.Name) || wordAt(text, n) {
			continue
		}
		if n > longest {
			out, longest = nil, n
		}
		out = append(out, p)
	}
	return out
}

func wordBefore(s string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	return at > 0 && isWordRune(r)
}

func wordAt(s string, at int) bool {
	r, _ := utf8.DecodeRuneInString(s[at:])
	return at < len(s) && isWordRune(r)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// proseOf returns a comment's text without fences and code spans.
func proseOf(text string) (out []string) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if fence, _ := opening(lines[i]); fence != "" {
			i = closing(lines, i, fence)
			continue
		}
		for n, piece := range strings.Split(lines[i], "`") {
			if n%2 == 0 {
				out = append(out, piece)
			}
		}
	}
	return out
}
