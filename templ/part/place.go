package part

import "strconv"

// Place is where the lines of a permalink are now.
type Place struct {
	File       string // key of the file, "" when it is not in the changeset
	Side       Side
	From, To   int // the lines the link names
	Now, NowTo int
	Gone       bool
	Unknown    bool   // the version the link was made on is not kept
	Quote      string // the lines, when they are gone
}

// at is the place as a fragment says it, "" when the lines are nowhere.
func (p Place) at() string {
	if p.Now == 0 {
		return ""
	}
	return Where(p.Side, p.Now, p.NowTo)
}

// words returns what became of the lines, "" when they are unchanged.
func (p Place) words() string {
	lines := "line " + strconv.Itoa(p.From)
	if p.To > p.From {
		lines = "lines " + strconv.Itoa(p.From) + " to " + strconv.Itoa(p.To)
	}
	switch {
	case p.Gone:
		return "The lines this link points to (previously " + lines + ") no longer exist."
	case p.Unknown:
		return "The file has changed since this link was created and that version is no longer available. Showing " +
			lines + " of the current version."
	case p.Now != p.From:
		return "Moved from L" + strconv.Itoa(p.From) + " since this link was created."
	}
	return ""
}
