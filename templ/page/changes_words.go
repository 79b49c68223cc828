package page

import "strconv"

// spaceParams are the values of ws in an address, by diff.Space.
var spaceParams = [...]string{"", "amount", "ignore", "blank"}

var spaceWords = [...]struct{ short, long, what string }{
	{"Whitespace", "Show all", "All whitespace changes"},
	{"Amount ignored", "Ignore amount", "Differences in number of spaces and trailing spaces"},
	{"Whitespace ignored", "Ignore all", "Including indentation"},
	{"Blank lines ignored", "Ignore blank lines", "Added and removed empty lines"},
}

func counted(counts string) string {
	if counts == "" {
		return ""
	}
	return " (" + counts + ")"
}

// depth returns the class that indents a line of the tree, up to eight levels.
func depth(n int) string { return "depth-" + strconv.Itoa(min(n, 8)) }

func openThreads(n int) string {
	switch n {
	case 0:
		return "No open threads"
	case 1:
		return "1 open thread"
	}
	return strconv.Itoa(n) + " open threads"
}
