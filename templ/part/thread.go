package part

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Thread is one annotation as it is drawn, under its line or at the head of its file. Like a file's rows it is the
// same for all viewers: what only its author may do carries the author's id, and the page shows it to them alone.
type Thread struct {
	ID       string
	Base     string // path of the session, as in "/s/ab12"
	File     string // key of the file in this changeset, "" when the file is not in it
	Path     string
	Resource string // URI the annotation is about
	Side     Side
	From     int // first line, 1-based; 0 for the whole file
	To       int // last line
	Entries  []Entry

	Resolved  bool
	Outdated  bool // its lines are gone
	MovedFrom int  // the line it was written on, when the lines have moved since
	Quote     string
	Version   string // URI of the content it was written on, "" when that is not known
	Unread    bool
	Place     int // 1-based among the unresolved, 0 when resolved
	Of        int
	Sent      bool // an agent has been given this thread
}

// Entry is one comment of a thread.
type Entry struct {
	ID     string
	By     string // name
	ByID   string // principal
	Agent  bool
	At     time.Time
	Edited bool
	Text   string // Markdown

	Pieces []Piece  // of Text, when there is a suggestion in it
	Called []string // names of those mentioned

	CalledIDs []string // their principals
}

// Side is the version of a file a line belongs to.
type Side string

const (
	Before Side = "before"
	After  Side = "after"
)

// Letter is how a fragment names a side: L12, R12.
func (s Side) Letter() string {
	if s == Before {
		return "L"
	}
	return "R"
}

// actions is what the addresses of the thread's forms begin with. Clients choose ids, and one that climbs out of
// the path would make a person press a button of another form.
func (t *Thread) actions() string { return t.Base + "/threads/" + url.PathEscape(t.ID) + "/" }

// Where is the place of a thread as a fragment of the review page writes it, as in "R12-R20"; "" for a file.
func (t *Thread) Where() string { return Where(t.Side, t.From, t.To) }

// Where writes a range of lines as a fragment does.
func Where(side Side, from, to int) string {
	if to == 0 {
		return ""
	}
	end := side.Letter() + strconv.Itoa(to)
	if from == to {
		return end
	}
	return side.Letter() + strconv.Itoa(from) + "-" + end
}

// Lines is the place of a thread in words.
func (t *Thread) Lines() string {
	switch {
	case t.To == 0:
		return "whole file"
	case t.From == t.To:
		return "line " + strconv.Itoa(t.To) + t.oldWord()
	}
	return "lines " + strconv.Itoa(t.From) + "–" + strconv.Itoa(t.To) + t.oldWord()
}

func (t *Thread) oldWord() string {
	if t.Side == Before {
		return " (before)"
	}
	return ""
}

func (t *Thread) state() string {
	if t.Resolved {
		return "resolved"
	}
	return "open"
}

// word is the state for people.
func (t *Thread) word() string {
	switch {
	case t.Resolved:
		return "Resolved"
	case t.Outdated:
		return "Outdated"
	}
	return "Open"
}

// applicable reports whether a suggestion on these lines can be applied: they are there, as the file is now.
func (t *Thread) applicable() bool { return !t.Resolved && !t.Outdated && t.To > 0 && t.Side == After }

// WrittenBy reports whether a person wrote in the thread.
func (t *Thread) WrittenBy(who string) bool {
	return slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.ByID == who })
}

// Calls reports whether a person is mentioned in the thread.
func (t *Thread) Calls(who string) bool {
	return slices.ContainsFunc(t.Entries, func(e Entry) bool { return slices.Contains(e.CalledIDs, who) })
}

// Applicable is the suggestion of the thread that is applied with others; none when it cannot be.
func (t *Thread) Applicable() []string {
	if !t.applicable() {
		return nil
	}
	for i := range t.Entries {
		for _, p := range t.Entries[i].Pieces {
			if p.Suggest != nil {
				return []string{p.Suggest.Ref} // another one of the same lines would overlap
			}
		}
	}
	return nil
}

// Link leads to the thread on the review page.
func (t *Thread) Link() string { return t.Base + "/changes#thread-" + url.PathEscape(t.ID) }

// initials are the one or two letters that stand for a person.
func initials(name string) string {
	out := ""
	for _, word := range strings.Fields(name) {
		for _, r := range word {
			out += string(r)
			break
		}
		if len([]rune(out)) == 2 {
			break
		}
	}
	return strings.ToUpper(out)
}

// ParseWhere reads what Where writes. An empty place is the whole file.
func ParseWhere(s string) (side Side, from, to int, ok bool) {
	if s == "" {
		return After, 0, 0, true
	}
	a, b, isRange := strings.Cut(s, "-")
	if !isRange {
		b = a
	}
	side, from, ok = parseLine(a)
	other, to, okTo := parseLine(b)
	return side, from, to, ok && okTo && side == other && from <= to
}

func parseLine(s string) (Side, int, bool) {
	if len(s) < 2 || s[0] != 'L' && s[0] != 'R' {
		return After, 0, false
	}
	n, err := strconv.Atoi(s[1:])
	side := After
	if s[0] == 'L' {
		side = Before
	}
	return side, n, err == nil && n > 0 && n < 1<<30
}
