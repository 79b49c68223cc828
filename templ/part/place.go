package part

import "strconv"

// Place is the current position of a permalink's lines.
type Place struct {
	File       string // key of the file; "" if it is not in the changeset
	Side       Side
	From, To   int // lines in the link
	Now, NowTo int
	Gone       bool
	Unknown    bool   // the version of the link is not stored
	Quote      string // the lines, if they are gone
}

// at returns the position as a fragment; "" if the lines are gone.
func (p Place) at() string {
	if p.Now == 0 {
		return ""
	}
	return Where(p.Side, p.Now, p.NowTo)
}

// words describes what happened to the lines; "" if they are unchanged.
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
