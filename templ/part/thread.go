package part

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Thread is one annotation, shown below its line or at the head of its file. Like a file's rows it is the
// same for all viewers: actions of the author carry the author's id, and the page shows them only to the author.
type Thread struct {
	ID       string
	Base     string // path of the session, like "/s/ab12"
	File     string // key of the file in this changeset; "" if it is not there
	Path     string
	Resource string // URI of the annotated resource
	Side     Side
	From     int // first line, 1-based; 0 for the whole file
	To       int // last line
	Entries  []Entry

	Resolved  bool
	Outdated  bool // its lines no longer exist
	MovedFrom int  // the original line, if the lines have moved
	Quote     string
	Version   string // URI of the content it was written on; "" if unknown
	Unread    bool
	Place     int // 1-based number among the unresolved threads; 0 if resolved
	Of        int
	Sent      bool // it was sent to an agent
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

	Pieces []Piece  // of Text, if it has suggestions
	Called []string // names of the mentioned people

	CalledIDs []string // their principals
}

// Side is the version of a file that a line belongs to.
type Side string

const (
	Before Side = "before"
	After  Side = "after"
)

// Letter returns the side's letter in fragments: L12, R12.
func (s Side) Letter() string {
	if s == Before {
		return "L"
	}
	return "R"
}

// actions returns the address prefix of the thread's forms. Clients choose ids, and an id that escapes
// the path would make a button submit another form.
func (t *Thread) actions() string { return t.Base + "/threads/" + url.PathEscape(t.ID) + "/" }

// Where returns the thread's position as in a URL fragment of the review page, like "R12-R20"; "" for a file.
func (t *Thread) Where() string { return Where(t.Side, t.From, t.To) }

// Where formats a range of lines as in a URL fragment.
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

// Lines describes the thread's position.
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

// word returns the display word of the state.
func (t *Thread) word() string {
	switch {
	case t.Resolved:
		return "Resolved"
	case t.Outdated:
		return "Outdated"
	}
	return "Open"
}

// applicable reports whether suggestions on these lines can be applied: the lines exist in the current file.
func (t *Thread) applicable() bool { return !t.Resolved && !t.Outdated && t.To > 0 && t.Side == After }

// WrittenBy reports whether a person wrote a comment in the thread.
func (t *Thread) WrittenBy(who string) bool {
	return slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.ByID == who })
}

// Calls reports whether a person is mentioned in the thread.
func (t *Thread) Calls(who string) bool {
	return slices.ContainsFunc(t.Entries, func(e Entry) bool { return slices.Contains(e.CalledIDs, who) })
}

// Applicable returns the suggestion of the thread to apply together with others; none if it cannot be applied.
func (t *Thread) Applicable() []string {
	if !t.applicable() {
		return nil
	}
	for i := range t.Entries {
		for _, p := range t.Entries[i].Pieces {
			if p.Suggest != nil {
				return []string{p.Suggest.Ref} // another suggestion for the same lines would overlap
			}
		}
	}
	return nil
}

// Link returns the address of the thread on the review page.
func (t *Thread) Link() string { return t.Base + "/changes#thread-" + url.PathEscape(t.ID) }

// initials returns the one or two letters that stand for a person.
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

// ParseWhere parses the result of Where. "" is the whole file.
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
