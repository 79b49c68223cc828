package review

import (
	"errors"
	"slices"
	"strings"
)

// Part is a piece of a comment: Markdown, or a suggestion of replacement lines.
type Part struct {
	Text    string
	Suggest bool
	Lines   []string // of a suggestion; none deletes the lines
}

// Parts splits a comment at its suggestion fences. A fence within another fence belongs to that
// one.
func Parts(text string) (parts []Part) {
	var markdown []string
	flush := func() {
		if t := strings.Join(markdown, "\n"); strings.TrimSpace(t) != "" {
			parts = append(parts, Part{Text: t})
		}
		markdown = nil
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		fence, info := opening(lines[i])
		end := i
		if fence != "" {
			end = closing(lines, i, fence)
		}
		if word, _, _ := strings.Cut(info, " "); word != "suggestion" {
			markdown = append(markdown, lines[i:min(end+1, len(lines))]...)
			i = end
			continue
		}
		flush()
		parts = append(parts, Part{Suggest: true, Lines: slices.Clone(lines[i+1 : end])})
		i = end
	}
	flush()
	return parts
}

// Suggestions returns the suggestions of a comment, in order.
func Suggestions(text string) (out [][]string) {
	for _, p := range Parts(text) {
		if p.Suggest {
			out = append(out, p.Lines)
		}
	}
	return out
}

// opening parses a line that begins a fence, into its marks and info string.
func opening(line string) (fence, info string) {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return "", ""
	}
	n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	info = strings.TrimSpace(rest[n:])
	if n < 3 || rest[0] == '`' && strings.Contains(info, "`") {
		return "", ""
	}
	return rest[:n], info
}

// closing returns the line that ends a fence; an unclosed fence extends to the end of the text.
func closing(lines []string, from int, fence string) int {
	for i := from + 1; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t")
		bare := strings.TrimLeft(line, " ")
		if len(line)-len(bare) <= 3 && len(bare) >= len(fence) && strings.Trim(bare, fence[:1]) == "" {
			return i
		}
	}
	return len(lines)
}

// Fence formats lines as a suggestion, with a fence that none of them closes.
func Fence(lines []string) string {
	marks := "```"
	for _, l := range lines {
		for strings.Contains(l, marks) {
			marks += "`"
		}
	}
	return marks + "suggestion\n" + strings.Join(append(slices.Clone(lines), marks), "\n") + "\n"
}

// Certain finds lines of an old version in a new one only if all of them are there, adjacent and
// unchanged.
func Certain(old, new []string, r Range) (Range, bool) {
	if r.From < 1 || r.To < r.From || r.To > len(old) {
		return Range{}, false
	}
	now, state := Reanchor(old, new, r)
	if state == Outdated || now.length() != r.length() {
		return Range{}, false
	}
	return now, slices.Equal(old[r.From-1:r.To], new[now.From-1:now.To])
}

// Quoted finds quoted lines when the version they were quoted from is not kept: at their former
// position, or at their only other one.
func Quoted(lines []string, quote string, r Range) (Range, bool) {
	want := Lines(quote)
	if len(want) != r.length() {
		return Range{}, false // truncated: a part does not prove the rest
	}
	var found []int
	for at := 0; at+len(want) <= len(lines); at++ {
		if slices.Equal(lines[at:at+len(want)], want) {
			if at == r.From-1 {
				return r, true
			}
			found = append(found, at+1)
		}
	}
	if len(found) != 1 {
		return Range{}, false
	}
	return Range{found[0], found[0] + r.length() - 1}, true
}

// Edit replaces lines of a file.
type Edit struct {
	Range
	Lines []string
}

// ErrOverlap reports that two edits touch the same line.
var ErrOverlap = errors.New("two suggestions change the same lines. Apply one of them, then review the other again")

// Replace applies edits to a text. New lines take the line endings of the lines they replace.
func Replace(text string, edits []Edit) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	edits = slices.SortedFunc(slices.Values(edits), func(a, b Edit) int { return b.From - a.From })
	for i, e := range edits {
		if e.From < 1 || e.To < e.From || e.To > len(lines) {
			return "", errors.New("the file has no such lines any more")
		}
		if i > 0 && e.To >= edits[i-1].From {
			return "", ErrOverlap
		}
		lines = slices.Replace(lines, e.From-1, e.To, copyLineEnds(e.Lines, lines[e.From-1:e.To])...)
	}
	return strings.Join(lines, ""), nil
}

// copyLineEnds gives new lines the line endings of the old ones.
func copyLineEnds(lines, old []string) []string {
	end := "\n"
	if strings.HasSuffix(old[0], "\r\n") {
		end = "\r\n"
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l + end
	}
	if last := old[len(old)-1]; len(out) > 0 && !strings.HasSuffix(last, "\n") {
		out[len(out)-1] = lines[len(lines)-1] // the file has no newline at its end
	}
	return out
}
