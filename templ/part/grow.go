package part

import "strings"

// Growth describes how one version of a block's HTML became the next, as instructions for the client: descend Depth
// times to the last child; if Drop is set, remove its last element and everything after it; append HTML. A step of
// streaming usually sends just the new bytes, and at most the last item or paragraph again.
type Growth struct {
	Depth int
	Drop  bool
	HTML  string
}

// Grow finds the smallest Growth from old to new; ok is false when there is none.
func Grow(old, new string) (g Growth, ok bool) {
	ends, starts := lastChain(old)
	for depth := len(ends) - 1; depth >= 0; depth-- {
		if added, ok := between(old[:ends[depth]], old[ends[depth]:], new); ok {
			return Growth{Depth: depth, HTML: added}, true
		}
	}
	for depth := len(starts) - 1; depth >= 0; depth-- {
		if added, ok := between(old[:starts[depth]], old[ends[depth]:], new); ok {
			return Growth{Depth: depth, Drop: true, HTML: added}, true
		}
	}
	return Growth{}, false
}

// between returns what new has between a head and a tail of old, if it consists of whole elements and text.
func between(head, tail, new string) (string, bool) {
	if len(new) < len(head)+len(tail) || !strings.HasPrefix(new, head) || !strings.HasSuffix(new, tail) {
		return "", false
	}
	added := new[len(head) : len(new)-len(tail)]
	return added, balanced(added)
}

// lastChain descends through a block's last elements: ends[d] is the end of the content at depth d (before the
// closing tag), starts[d] the start of its last element. starts is one shorter when the innermost has no element.
func lastChain(s string) (ends, starts []int) {
	ends = []int{len(s)}
	var open []int // starts of the open elements
	var last []int // last[d]: start of the newest element at depth d
	for i := strings.IndexByte(s, '<'); i >= 0; {
		end := strings.IndexByte(s[i:], '>')
		if end < 0 {
			break
		}
		tag := s[i : i+end+1]
		switch {
		case strings.HasPrefix(tag, "</"):
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		default:
			last = append(last[:min(len(open), len(last))], i)
			if !void(tag) {
				open = append(open, i)
			}
		}
		next := strings.IndexByte(s[i+end:], '<')
		if next < 0 {
			break
		}
		i += end + next
	}
	for at := len(s); ; {
		t := strings.TrimRight(s[:at], "\n")
		i := strings.LastIndexByte(t, '<')
		if i < 0 || !strings.HasPrefix(t[i:], "</") || t[len(t)-1] != '>' {
			return ends, last[:min(len(last), len(ends))]
		}
		ends = append(ends, i)
		at = i
	}
}

func void(tag string) bool {
	return strings.HasSuffix(tag, "/>") || strings.HasPrefix(tag, "<br") || strings.HasPrefix(tag, "<hr") ||
		strings.HasPrefix(tag, "<input")
}

// balanced reports whether a piece of our own HTML opens and closes the same elements.
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
		switch tag := s[i : i+end+1]; {
		case strings.HasPrefix(tag, "</"):
			if depth--; depth < 0 {
				return false
			}
		case !void(tag):
			depth++
		}
		s = s[i+end+1:]
	}
}
