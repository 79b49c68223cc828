package part

import (
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/texts"
)

// Person is a visitor with a page of the session open.
type Person struct {
	ID, Name             string
	Hue                  int // of eight
	Guest, Away          bool
	Follows, FollowsName string // whom they follow
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
	mostListed = 40 // with a line of their own; a number counts the others
)

// Listed are the people with a line of their own.
func Listed(people []Person) []Person { return people[:min(len(people), mostListed)] }

// Element is the id of their line.
func (p Person) Element() string { return "who-" + p.ID }

// Initials are at most two letters of the name.
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

// hue is the class of their colour.
func (p Person) hue() string { return "hue-" + strconv.Itoa(p.Hue) }

// HueOf is the class of a person's color, by their id. js/presence.js puts another one there where two people who are
// here would share it.
func HueOf(id string) string { return "hue-" + strconv.Itoa(texts.Hue(id)) }

var pageWords = map[string]string{"chat": "Chat", "changes": "Changes", "threads": "Threads", "terminals": "Terminals",
	"share": "Share", "worktree": "Worktree", "session": "This session"}

// Where is the place in words.
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

// lineWords reads "R12" as "line 12" and "L3-L8" as "old lines 3–8".
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

// does is what they do there, in words; "" for reading.
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

// link is the place's address, with the line.
func (p Spot) link() string {
	switch {
	case p.Href == "" || p.File == "":
		return p.Href
	case p.Line != "":
		return p.Href + "#f-" + p.File + p.Line
	}
	return p.Href + "#f-" + p.File
}
