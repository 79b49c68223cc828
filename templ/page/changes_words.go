package page

import "strconv"

// spaceParams is what the address says of white space, by diff.Space.
var spaceParams = [...]string{"", "amount", "ignore", "blank"}

var spaceWords = [...]struct{ short, long, what string }{
	{"White space", "Show all", "Every change of white space"},
	{"Amount ignored", "Ignore changes in amount", "How many spaces, and those at the end of a line"},
	{"White space ignored", "Ignore all", "Indentation too"},
	{"Blank lines ignored", "Ignore blank lines", "Added and removed empty lines"},
}

func counted(counts string) string {
	if counts == "" {
		return ""
	}
	return " (" + counts + ")"
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
