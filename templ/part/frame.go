package part

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Frame is what surrounds a page. What differs by viewer goes to Viewer and Body; everything else may be patched from
// HTML that all viewers share.
type Frame struct {
	Title   string                   // of the document, before " · ahphub"
	Asset   func(string) string      // name of an embedded file → its address
	Imports func(...string) []string // addresses of what scripts import; nil where nothing is to be loaded early
	Path    string                   // of this page, for forms that come back to it
	Theme   string                   // "light", "dark" or "" for the system's
	Safe    bool                     // colour-blind-safe additions and deletions
	Viewer  Viewer
	Rail    []RailItem // nil with Viewer.Guest
	Needs   int        // sessions that wait for a person: tab title and badge
	Session *SessionHead
	// "inbox", "new", "settings", "people"; in a session "chat", "changes", "threads", "terminals", "share", "worktree"
	Tab     string
	Live    string   // query of the page's /live stream; "" for a page that does not change
	Body    string   // more classes of body
	Styles  []string // more style sheets, as "css/review.css"
	Scripts []string // more scripts, as "js/review.js"
	Names   []string // whom a comment can mention
}

// scripts returns the page's scripts in the order in which they run.
func (f Frame) scripts() []string {
	out := append([]string{"js/base.js"}, f.Scripts...)
	if f.Session != nil {
		out = append(out, "js/presence.js")
	}
	return out
}

// imports returns the addresses of the modules that the page's scripts import.
func (f Frame) imports() []string {
	if f.Imports == nil {
		return nil
	}
	return f.Imports(f.scripts()...)
}

// Viewer is the person looking.
type Viewer struct {
	ID, Name              string
	Role                  string // as a word: "Commenter"
	Guest                 bool   // came by a link: sees one session, so no rail
	Prompt, Approve, Type bool
	Guests                bool // may approve also what guests asked for
	Comment               bool
	Owner                 bool
}

// classes says what the viewer may do, so that HTML shared by all can hide what they may not.
func (v Viewer) classes() string {
	var out []string
	for _, c := range []struct {
		on   bool
		name string
	}{{v.Owner, "may-own"}, {v.Prompt, "may-prompt"}, {v.Approve, "may-approve"}, {v.Guests, "may-guests"},
		{v.Type, "may-type"}, {v.Comment, "may-comment"}, {v.Guest, "guest"}} {
		if c.on {
			out = append(out, c.name)
		}
	}
	return strings.Join(out, " ")
}

// RailItem is a session in the rail.
type RailItem struct {
	Short, Title string
	Agent        string // its name
	Status       Status
	Unread       bool
	Age          string // "3 m", from the host's clock
	Add, Del     int64
	Group        string // heading above the first of a group
	Href         string // where it leads, instead of to the session Short
}

func (it RailItem) href() string {
	if it.Href != "" {
		return it.Href
	}
	return "/s/" + it.Short
}

// of names the session to the page's script, where there is one.
func (it RailItem) of(current string) templ.Attributes {
	if it.Short == "" {
		return nil
	}
	out := templ.Attributes{"data-session": it.Short}
	if it.Short == current {
		out["aria-current"] = "page"
	}
	return out
}

// SessionHead is the header of every page of a session.
type SessionHead struct {
	Short, Title string
	Chat         string // id of the chat shown, for the Chat tab; "" for the default
	Status       Status
	Activity     string
	Silent       bool   // Activity says how long the agent has not answered
	Branch       string // checked out in the first directory, or the short id of a commit
	Detached     bool   // Branch is a commit
	Worktree     bool   // the session has a worktree of its own
	Wide         bool   // it works in the home directory or above
	Add, Del     int64
	Files        int64
	Threads      int64 // open ones
	Terminals    int
	People       []Person
	Verdicts     []Verdict // that stand
	Called       int       // threads in which the reader is mentioned and has not read
	Archived     bool
	// what of the session the page shows, as its Share button says it: "chat:<id>", "changes:<scope>"
	Part    string
	Answers string // classes of those who may answer what it waits for
	Only    string // the part of the session that its reader sees: "chat" or "changes"; "" for all of it
	Muted   bool   // by the reader, who gets no notifications of it
	Path    string // of the page, for the form that mutes
	Usage   string // tokens and cost of the chat shown
}

// Base is the path that all pages of the session start with.
func (s SessionHead) Base() string { return "/s/" + s.Short }

func (s SessionHead) branchTitle() string {
	switch {
	case s.Detached:
		return "Detached HEAD at this commit"
	case Hidden(s.Branch) > 0:
		return "A branch with invisible characters in its name"
	}
	return "Branch " + s.Branch
}

func (s SessionHead) threadsHref() string {
	if s.Called > 0 {
		return s.Base() + "/threads?state=mentions"
	}
	return s.Base() + "/threads"
}

func (s SessionHead) shareHref() string {
	if s.Part == "" {
		return s.Base() + "/share"
	}
	return s.Base() + "/share?part=" + url.QueryEscape(s.Part)
}

func (s SessionHead) chatHref() string {
	if s.Chat == "" {
		return s.Base()
	}
	return s.Base() + "/c/" + s.Chat
}

// Status is what a session or chat is doing, in one icon, one word and one colour.
type Status struct{ Icon, Word, Class string }

// Waiting is a session that waits for others than the viewer.
var Waiting = Status{"clock", "Waiting", ""}

// Interrupted is the status of a session or chat whose turn a restart ended.
var Interrupted = Status{"stop", "Interrupted", "need"}

// StatusOf reads a session's or chat's status.
func StatusOf(s ahp.SessionStatus) Status {
	switch s.Activity() {
	case ahp.SessionStatusInputNeeded:
		return Status{"need", "Needs you", "need"}
	case ahp.SessionStatusInProgress:
		return Status{"running", "Running", "run"}
	case ahp.SessionStatusError:
		return Status{"error", "Failed", "bad"}
	}
	if s.Has(ahp.SessionStatusIsArchived) {
		return Status{"archive", "Archived", ""}
	}
	return Status{"idle", "Idle", ""}
}

func (f Frame) docTitle() string {
	t := f.Title + " · ahphub"
	if f.Needs > 0 {
		t = "(" + strconv.Itoa(f.Needs) + ") " + t
	}
	return t
}

// people are the names that a script offers after @, as JSON.
func (f Frame) people() string {
	if len(f.Names) == 0 {
		return ""
	}
	b, err := json.Marshal(f.Names)
	if err != nil {
		return "" // strings
	}
	return string(b)
}

func (f Frame) bodyClass() string { return strings.TrimSpace(f.Viewer.classes() + " " + f.Body) }

func (f Frame) appClass() string {
	if f.Rail == nil {
		return "app norail"
	}
	return "app"
}

func signed(n int64, sign string) string { return sign + Count(int(n)) }

func (f Frame) favicon() string {
	if f.Needs > 0 {
		return "img/icon-need.svg"
	}
	return "img/icon.svg"
}

func (f Frame) current() string {
	if f.Session == nil {
		return ""
	}
	return f.Session.Short
}

// nextTheme is what the toggle switches to: system, light, dark, and around.
func (f Frame) nextTheme() string {
	switch f.Theme {
	case "light":
		return "dark"
	case "dark":
		return "system"
	}
	return "light"
}

func needing(items []RailItem) int {
	n := 0
	for _, it := range items {
		if it.Status.Class == "need" {
			n++
		}
	}
	return n
}

// Here marks a link as the one of the page that is open.
func Here(on bool) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"aria-current": "page"}
}

// SetupNote is something that the server lacks, and what its owner can do about it.
type SetupNote struct {
	Text, Fix string
	Risk      bool // programs can do more than they should
}
