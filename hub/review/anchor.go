// Package review keeps comments at their lines while the lines move, and verdicts while the changes
// continue. It does no I/O.
package review

import (
	"strings"
	"unicode/utf8"

	"znkr.io/diff"
)

// Range is a range of lines in a file, 1-based and inclusive.
type Range struct{ From, To int }

// State is the result of re-anchoring a range.
type State string

// The states of a range after its file changed.
const (
	Exact    State = "exact"    // the same lines at the same position
	Moved    State = "moved"    // the lines are elsewhere, or some were removed or added
	Outdated State = "outdated" // the lines were removed; the range is their former position
)

// Reanchor finds the lines of a range of an old version in a new one. It follows a line through
// edits around it, and a moved line by its text. If fewer than half of a range's lines are found,
// the range is outdated. An outdated range is still within the new version (or 1 to 1 if that is
// empty), so that its comments have a position.
func Reanchor(old, new []string, r Range) (Range, State) {
	r = clamp(r, len(old))
	if len(old) == 0 {
		return clamp(r, len(new)), Outdated
	}
	follow := newFollower(old, new)
	first, last, found := 0, 0, 0
	for n := r.From; n <= r.To; n++ {
		at := follow.line(n)
		if at == 0 || found > 0 && (at < first-r.length() || at > last+r.length()) {
			continue // removed, or separated from the others
		}
		if found == 0 {
			first, last = at, at
		}
		first, last, found = min(first, at), max(last, at), found+1
	}
	if 2*found < r.length() || found == 0 {
		return clamp(follow.place(r), len(new)), Outdated
	}
	now := Range{first, last}
	if now == r && found == r.length() {
		return now, Exact
	}
	return now, Moved
}

func (r Range) length() int { return r.To - r.From + 1 }

func clamp(r Range, lines int) Range {
	from := max(1, min(r.From, lines))
	return Range{from, max(from, min(r.To, lines))}
}

// follower maps old lines to new ones.
type follower struct {
	old, new []string
	to       []int // new line of each old one, 0 when it was removed; by 0-based old line
	from     []bool
	where    map[string]int // text to its only new line; -1 for several
}

func newFollower(old, new []string) *follower {
	f := &follower{old: old, new: new, to: make([]int, len(old)), from: make([]bool, len(new)), where: map[string]int{}}
	for _, e := range diff.Edits(old, new) {
		if e.Op == diff.Match {
			f.to[e.PosX], f.from[e.PosY] = e.PosY+1, true
		}
	}
	for i, text := range new {
		if _, seen := f.where[text]; seen {
			f.where[text] = -1
		} else {
			f.where[text] = i + 1
		}
	}
	return f
}

// line returns the new number of an old line, 0 when it was removed. A moved line is recognized by
// its text if that is unique and its new line is not the match of another line.
func (f *follower) line(n int) int {
	if at := f.to[n-1]; at > 0 {
		return at
	}
	at := f.where[f.old[n-1]]
	if at > 0 && !f.from[at-1] && isDistinctive(f.old[n-1]) {
		return at
	}
	return 0
}

// isDistinctive reports whether a line has enough text to be recognized by, unlike a brace or a
// blank line.
func isDistinctive(line string) bool {
	n := 0
	for _, r := range line {
		if r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= utf8.RuneSelf {
			n++
		}
	}
	return n >= 3
}

// place returns where the lines of a range would be: after the nearest preceding line that still
// exists.
func (f *follower) place(r Range) Range {
	for n := r.From - 1; n >= 1; n-- {
		if at := f.to[n-1]; at > 0 {
			return Range{at + 1, at + 1}
		}
	}
	return Range{1, 1}
}

// Lines splits a text for Reanchor, without line endings.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// Find looks for quoted lines when the version they were quoted from is not kept, and returns the
// match nearest to their former position. Exact matches take precedence over matches with other
// indentation. If the lines are no longer adjacent, the longest of them is looked for.
func Find(lines []string, quote string, near Range) (Range, State) {
	want := Lines(quote)
	for _, same := range []func(a, b string) bool{sameText, sameTrimmed} {
		if at, ok := nearest(lines, want, near.From, same); ok {
			if at == near {
				return at, Exact
			}
			return at, Moved
		}
	}
	if len(want) > 1 {
		if best := longest(want); len(strings.TrimSpace(best)) >= 8 {
			if at, ok := nearest(lines, []string{best}, near.From, sameText); ok {
				return at, Moved
			}
		}
	}
	return clamp(near, len(lines)), Outdated
}

func sameText(a, b string) bool    { return strings.TrimSuffix(a, "\r") == b }
func sameTrimmed(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

func longest(lines []string) (best string) {
	for _, l := range lines {
		if len(strings.TrimSpace(l)) > len(strings.TrimSpace(best)) {
			best = l
		}
	}
	return best
}

// nearest looks for a run of lines, outward from their former position.
func nearest(lines, want []string, from int, same func(a, b string) bool) (Range, bool) {
	if len(want) == 0 {
		return Range{}, false
	}
	from = clamp(Range{from, from}, len(lines)).From - 1
	for d := 0; d <= len(lines); d++ {
		for _, at := range [2]int{from - d, from + d} {
			if at >= 0 && at+len(want) <= len(lines) && matchesAt(lines[at:], want, same) {
				return Range{at + 1, at + len(want)}, true
			}
		}
	}
	return Range{}, false
}

func matchesAt(lines, want []string, same func(a, b string) bool) bool {
	for i, w := range want {
		if !same(lines[i], w) {
			return false
		}
	}
	return true
}
