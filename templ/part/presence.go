package part

import (
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/texts"
)

// Person is a visitor with a page of the session open.
type Person struct {
	ID, Name             string
	Hue                  int // one of eight
	Guest, Away          bool
	Follows, FollowsName string // id and name of the person they follow
	Place                Spot   // zero: their position is hidden
}

// Spot is a person's position in a session.
type Spot struct {
	Page   string // as Frame.Tab
	In, Of string // id and name of the chat or terminal, or the scope
	Href   string // of the page, without the line
	File   string // key of a file of the changes
	Path   string
	Line   string // "R12", "L3-L8"
	Top    string
	Typing string // "message", "comment", "reply:<thread>"
}

const (
	mostFaces  = 5
	mostListed = 40 // people listed by name; the others are counted
)

// Listed returns the people who are listed by name.
func Listed(people []Person) []Person { return people[:min(len(people), mostListed)] }

// Element returns the element id of the person's line.
func (p Person) Element() string { return "who-" + p.ID }

// Initials returns at most two letters of the name.
func (p Person) Initials() string {
	out := ""
	for _, w := range strings.Fields(p.Name) {
		r := []rune(w)
		if out += strings.ToUpper(string(r[0])); len([]rune(out)) == 2 {
			break
		}
	}
	return out
}

// hue returns the class of the person's color.
func (p Person) hue() string { return "hue-" + strconv.Itoa(p.Hue) }

// HueOf returns the class of a person's color, by their id. js/presence.js replaces it where two present people
// would have the same color.
func HueOf(id string) string { return "hue-" + strconv.Itoa(texts.Hue(id)) }

var pageWords = map[string]string{"chat": "Chat", "changes": "Changes", "threads": "Threads", "terminals": "Terminals",
	"share": "Share", "worktree": "Worktree", "session": "This session"}

// Where describes the position.
func (p Spot) Where() string {
	word := pageWords[p.Page]
	switch {
	case word == "":
		return "Elsewhere in this session"
	case p.Path != "" && p.Line != "":
		return p.Path + ", " + lineWords(p.Line)
	case p.Path != "":
		return p.Path
	case p.Of != "":
		return word + ", " + p.Of
	}
	return word
}

// lineWords converts "R12" to "line 12", and "L3-L8" to "old lines 3–8".
func lineWords(at string) string {
	from, to, several := strings.Cut(at, "-")
	if from == "" {
		return ""
	}
	word := "line"
	if from[0] == 'L' {
		word = "old line"
	}
	if !several || to == "" {
		return word + " " + from[1:]
	}
	return word + "s " + from[1:] + "–" + to[1:]
}

// does describes the person's activity; "" for reading.
func (p Person) does() string {
	kind, _, _ := strings.Cut(p.Place.Typing, ":")
	switch {
	case kind == "message":
		return "writing a message"
	case kind == "comment":
		return "writing a comment"
	case kind == "reply":
		return "writing a reply"
	case p.Away:
		return "away"
	case p.FollowsName != "":
		return "following " + p.FollowsName
	}
	return ""
}

// link returns the address of the position, with the line.
func (p Spot) link() string {
	switch {
	case p.Href == "" || p.File == "":
		return p.Href
	case p.Line != "":
		return p.Href + "#f-" + p.File + p.Line
	}
	return p.Href + "#f-" + p.File
}
