// Package review keeps what people said about lines at those lines while the lines move, and what they decided about
// changes while the changes go on. It reads and writes nothing.
package review

import (
	"strings"
	"unicode/utf8"

	"znkr.io/diff"
)

// Range is lines of a file, 1-based, both included.
type Range struct{ From, To int }

// State says what became of a range.
type State string

// The states of a range after its file changed.
const (
	Exact    State = "exact"    // the same lines at the same place
	Moved    State = "moved"    // the lines stand elsewhere, or some of them are gone or new
	Outdated State = "outdated" // the lines are gone; the range is where they stood
)

// Reanchor finds the lines of a range of an old version in a new one. A line is followed through edits around it, and
// when it was moved, by its text. Half of a range's lines must be found, or it is outdated; a range that is outdated
// still lies within the new version (or is 1 to 1 when that is empty), so that nothing about it is lost.
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
			continue // gone, or torn away from the others
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

// follower knows where each old line went.
type follower struct {
	old, new []string
	to       []int // new line of each old one, 0 when it is gone; by 0-based old line
	from     []bool
	where    map[string]int // text to its only new line; -1 when there are several
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

// line is where an old line stands now, 0 when it is gone. One that was moved is known by its text, if that stands once
// and is nobody else's.
func (f *follower) line(n int) int {
	if at := f.to[n-1]; at > 0 {
		return at
	}
	at := f.where[f.old[n-1]]
	if at > 0 && !f.from[at-1] && telling(f.old[n-1]) {
		return at
	}
	return 0
}

// telling reports whether a line says enough to be known by: not a brace or nothing at all.
func telling(line string) bool {
	n := 0
	for _, r := range line {
		if r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= utf8.RuneSelf {
			n++
		}
	}
	return n >= 3
}

// place is where the lines of a range would be: after the nearest line above it that is still there.
func (f *follower) place(r Range) Range {
	for n := r.From - 1; n >= 1; n-- {
		if at := f.to[n-1]; at > 0 {
			return Range{at + 1, at + 1}
		}
	}
	return Range{1, 1}
}

// Lines splits a text for Reanchor; ends of lines do not count.
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

// Find looks for quoted lines in a version when the one they were quoted from is not kept: the place nearest to where
// they stood. What stands there as it was goes before what was indented anew; of several lines that are torn apart the
// longest holds the place.
func Find(lines []string, quote string, near Range) (Range, State) {
	want := Lines(quote)
	for _, same := range []func(a, b string) bool{alike, trimmed} {
		if at, ok := nearest(lines, want, near.From, same); ok {
			if at == near {
				return at, Exact
			}
			return at, Moved
		}
	}
	if len(want) > 1 {
		if best := longest(want); len(strings.TrimSpace(best)) >= 8 {
			if at, ok := nearest(lines, []string{best}, near.From, alike); ok {
				return at, Moved
			}
		}
	}
	return clamp(near, len(lines)), Outdated
}

func alike(a, b string) bool   { return strings.TrimSuffix(a, "\r") == b }
func trimmed(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

func longest(lines []string) (best string) {
	for _, l := range lines {
		if len(strings.TrimSpace(l)) > len(strings.TrimSpace(best)) {
			best = l
		}
	}
	return best
}

// nearest looks for a run of lines, outward from where it was.
func nearest(lines, want []string, from int, same func(a, b string) bool) (Range, bool) {
	if len(want) == 0 {
		return Range{}, false
	}
	from = clamp(Range{from, from}, len(lines)).From - 1
	for d := 0; d <= len(lines); d++ {
		for _, at := range [2]int{from - d, from + d} {
			if at >= 0 && at+len(want) <= len(lines) && runs(lines[at:], want, same) {
				return Range{at + 1, at + len(want)}, true
			}
		}
	}
	return Range{}, false
}

func runs(lines, want []string, same func(a, b string) bool) bool {
	for i, w := range want {
		if !same(lines[i], w) {
			return false
		}
	}
	return true
}
