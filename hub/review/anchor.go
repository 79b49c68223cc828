// Package review keeps what people said about lines at those lines while the lines move. It reads and writes nothing.
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

// telling tells whether a line says enough to be known by: not a brace or nothing at all.
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

// Quote returns the lines of a range as text of at most the given bytes, for showing what was commented on once the
// lines are gone. What does not fit is left out at the end, at a whole line where there is one.
func Quote(lines []string, r Range, most int) string {
	if len(lines) == 0 {
		return ""
	}
	r = clamp(r, len(lines))
	text := strings.Join(lines[r.From-1:r.To], "\n")
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	if at := strings.LastIndexByte(text[:cut], '\n'); at > 0 {
		cut = at
	}
	return text[:cut]
}

// Find looks for quoted lines in a version when the one they were quoted from is not kept: the place nearest to where
// they stood. Spaces around lines do not count.
func Find(lines []string, quote string, near Range) (Range, State) {
	want := Lines(quote)
	best, found := Range{}, false
	for i := 0; len(want) > 0 && i+len(want) <= len(lines); i++ {
		if !sameLines(lines[i:], want) {
			continue
		}
		at := Range{i + 1, i + len(want)}
		if !found || distance(at, near) < distance(best, near) {
			best, found = at, true
		}
	}
	switch {
	case !found:
		return clamp(near, len(lines)), Outdated
	case best == near:
		return best, Exact
	}
	return best, Moved
}

func sameLines(lines, want []string) bool {
	for i, w := range want {
		if strings.TrimSpace(lines[i]) != strings.TrimSpace(w) {
			return false
		}
	}
	return true
}

func distance(a, b Range) int { return max(a.From-b.From, b.From-a.From) }
