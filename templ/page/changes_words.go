package page

import "strconv"

func wsValue(v *Changes) string {
	if v.NoSpace {
		return ""
	}
	return "ignore"
}

// depth is the class that indents a line of the tree; deeper than eight levels look alike.
func depth(n int) string { return "l" + strconv.Itoa(min(n, 8)) }

func drafts(n int) string {
	switch n {
	case 0:
		return "No drafts"
	case 1:
		return "1 draft"
	}
	return strconv.Itoa(n) + " drafts"
}

func openThreads(n int) string {
	switch n {
	case 0:
		return "no open threads"
	case 1:
		return "1 open thread"
	}
	return strconv.Itoa(n) + " open threads"
}
