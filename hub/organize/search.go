package organize

import (
	"slices"
	"strings"
)

// Search is a parsed filter of the inbox: every word and label must match.
type Search struct {
	words, labels  []string // in lower case
	pinned, unread bool
}

// ParseSearch parses a filter: words, label:name (with quotes around a name of several words),
// is:pinned and is:unread.
func ParseSearch(text string) (s Search) {
	for _, word := range splitWords(strings.ToLower(clean(text))) {
		switch label, isLabel := strings.CutPrefix(word, "label:"); {
		case isLabel && label != "":
			s.labels = append(s.labels, label)
		case word == "is:pinned":
			s.pinned = true
		case word == "is:unread":
			s.unread = true
		default:
			s.words = append(s.words, word)
		}
	}
	return s
}

// splitWords splits at spaces outside of quotes, and drops the quotes.
func splitWords(text string) (words []string) {
	quoted := false
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		if word = strings.ReplaceAll(word, `"`, ""); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// Match reports whether a session with these texts and labels matches.
func (s Search) Match(texts, labels []string, pinned, unread bool) bool {
	if s.pinned && !pinned || s.unread && !unread {
		return false
	}
	for _, want := range s.labels {
		if !slices.ContainsFunc(labels, func(l string) bool { return strings.ToLower(l) == want }) {
			return false
		}
	}
	for _, word := range s.words {
		in := func(text string) bool { return strings.Contains(strings.ToLower(text), word) }
		if !slices.ContainsFunc(texts, in) && !slices.ContainsFunc(labels, in) {
			return false
		}
	}
	return true
}

// LabelSearch returns the filter that finds a label.
func LabelSearch(label string) string {
	if strings.Contains(label, " ") {
		return `label:"` + label + `"`
	}
	return "label:" + label
}
