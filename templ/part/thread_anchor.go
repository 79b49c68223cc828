package part

import "strings"

// Anchor finds where the lines that a thread quotes are now. Lines count from one. Without a quote a thread stays where
// it was; ok is false when its lines are gone. Of several places with the same text the nearest to the old one wins.
func Anchor(lines []string, from, to int, quote string) (nowFrom, nowTo int, ok bool) {
	if quote == "" {
		return from, to, from >= 1 && to <= len(lines)
	}
	want := strings.Split(strings.TrimSuffix(quote, "\n"), "\n")
	if at, ok := nearest(lines, want, from-1, exact); ok {
		return at + 1, at + len(want), true
	}
	if at, ok := nearest(lines, want, from-1, trimmed); ok { // moved into another block: only the indent changed
		return at + 1, at + len(want), true
	}
	// Of a longer range, the longest line that is left holds the thread.
	best := ""
	for _, w := range want {
		if len(strings.TrimSpace(w)) > len(strings.TrimSpace(best)) {
			best = w
		}
	}
	if len(want) > 1 && len(strings.TrimSpace(best)) >= 8 {
		if at, ok := nearest(lines, []string{best}, from-1, exact); ok {
			return at + 1, at + 1, true
		}
	}
	return 0, 0, false
}

func exact(a, b string) bool   { return strings.TrimSuffix(a, "\r") == strings.TrimSuffix(b, "\r") }
func trimmed(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// nearest looks for a run of lines, outward from where it was.
func nearest(lines, want []string, from int, same func(a, b string) bool) (int, bool) {
	for d := 0; d <= len(lines); d++ {
		for _, at := range [2]int{from - d, from + d} {
			if at >= 0 && at+len(want) <= len(lines) && runAt(lines, want, at, same) {
				return at, true
			}
		}
	}
	return 0, false
}

func runAt(lines, want []string, at int, same func(a, b string) bool) bool {
	for i, w := range want {
		if !same(lines[at+i], w) {
			return false
		}
	}
	return true
}
