package review

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Person is somebody who has been in a session.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Mentions finds who is named by @Name in a comment, each once; what stands in code names nobody. Of names that begin
// alike the longest is meant.
func Mentions(text string, people []Person) (out []Person) {
	for _, prose := range proseOf(text) {
		for at := range prose {
			if prose[at] != '@' || wordBefore(prose, at) {
				continue
			}
			for _, p := range named(prose[at+1:], people) {
				if !slices.Contains(out, p) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// named are the people whose name a text begins with; two may have the same.
func named(text string, people []Person) (out []Person) {
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
	return at > 0 && word(r)
}

func wordAt(s string, at int) bool {
	r, _ := utf8.DecodeRuneInString(s[at:])
	return at < len(s) && word(r)
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// proseOf is a comment without its fences and code spans.
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
