package part

import "strings"

// Growth says how one version of a block's HTML became the next: text put in at the end of its last child's last
// child …, Depth steps down. It is what streaming nearly always does, and costs the new bytes alone.
type Growth struct {
	Depth int
	HTML  string
}

// Grow finds such a step from old to new; ok is false when something else changed, and the block is drawn anew.
func Grow(old, new string) (g Growth, ok bool) {
	cuts := closers(old)
	for depth := len(cuts) - 1; depth >= 0; depth-- {
		tail := old[cuts[depth]:]
		head := old[:cuts[depth]]
		if len(new) < len(old) || !strings.HasPrefix(new, head) || !strings.HasSuffix(new, tail) {
			continue
		}
		if added := new[len(head) : len(new)-len(tail)]; balanced(added) {
			return Growth{depth, added}, true
		}
	}
	return Growth{}, false
}

// closers are the positions before the closing tags that a block ends with: none, the last one, the last two …
func closers(s string) []int {
	cuts := []int{len(s)}
	for at := len(s); ; {
		t := strings.TrimRight(s[:at], "\n")
		i := strings.LastIndexByte(t, '<')
		if i < 0 || !strings.HasPrefix(t[i:], "</") || t[len(t)-1] != '>' {
			return cuts
		}
		cuts = append(cuts, i)
		at = i
	}
}

// balanced tells whether a piece of our own HTML opens and closes the same elements.
func balanced(s string) bool {
	depth := 0
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			return depth == 0
		}
		end := strings.IndexByte(s[i:], '>')
		if end < 0 {
			return false
		}
		tag := s[i : i+end+1]
		switch {
		case strings.HasPrefix(tag, "</"):
			if depth--; depth < 0 {
				return false
			}
		case strings.HasSuffix(tag, "/>"), strings.HasPrefix(tag, "<br"), strings.HasPrefix(tag, "<hr"), strings.HasPrefix(tag, "<input"):
		default:
			depth++
		}
		s = s[i+end+1:]
	}
}
