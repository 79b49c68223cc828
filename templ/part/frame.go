package part

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Frame surrounds a page. Everything except Viewer and Body is the same for all viewers, and may be replaced by
// patches.
type Frame struct {
	Title   string                   // of the document, before " · ahphub"
	Asset   func(string) string      // address of an embedded file, by name
	Imports func(...string) []string // addresses of scripts' imports; nil: none are preloaded
	Path    string                   // of this page, for forms that return to it
	Theme   string                   // "light", "dark" or "" for the system's theme
	Safe    bool                     // colour-blind-safe additions and deletions
	Viewer  Viewer
	Rail    []RailItem // nil with Viewer.Guest
	Needs   int        // sessions that need an answer: tab title and badge
	Session *SessionHead
	// "inbox", "new", "settings", "people"; in a session "chat", "changes", "threads", "terminals", "share", "worktree"
	Tab     string
	Live    string   // query of the page's /live stream; "" for a static page
	Body    string   // further classes of body
	Styles  []string // further style sheets, like "css/review.css"
	Scripts []string // further scripts, like "js/review.js"
	Names   []string // names that a comment can mention
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

// Viewer is the page's reader.
type Viewer struct {
	ID, Name              string
	Role                  string // in words: "Commenter"
	Guest                 bool   // came by a link: sees one session, so no rail
	Prompt, Approve, Type bool
	Guests                bool // may also approve requests for guests' turns
	Comment               bool
	Owner                 bool
}

// classes returns the viewer's rights as CSS classes, so that shared HTML can hide what they may not do.
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
	Agent        string // name of the agent
	Status       Status
	Unread       bool
	Age          string // "3 m", by the host's clock
	Add, Del     int64
	Group        string // heading; shown above the first item of a group
	Href         string // address, if not that of the session Short
}

func (it RailItem) href() string {
	if it.Href != "" {
		return it.Href
	}
	return "/s/" + it.Short
}

// of marks the item with its session for the script.
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
	Silent       bool   // Activity is how long the agent has not responded
	Branch       string // checked out in the first directory, or the short id of a commit
	Detached     bool   // Branch is a commit
	Worktree     bool   // the session has its own worktree
	Wide         bool   // it works in the home directory or above
	Add, Del     int64
	Files        int64
	Threads      int64 // open ones
	Terminals    int
	People       []Person
	Verdicts     []Verdict // current verdicts
	Called       int       // threads with unread mentions of the reader
	Archived     bool
	// the part that the page shows, for its Share button: "chat:<id>", "changes:<scope>"
	Part    string
	Answers string // CSS classes of viewers who may answer its requests
	Only    string // the only part visible to the reader: "chat" or "changes"; "" for all
	Muted   bool   // by the reader, who gets no notifications
	Path    string // of the page, for the form that mutes the session
	Usage   string // tokens and cost of the shown chat
}

// Base returns the path prefix of the session's pages.
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

// Status is the status of a session or chat, as an icon, a word and a color.
type Status struct{ Icon, Word, Class string }

// Waiting is the status of a session that waits for someone other than the viewer.
var Waiting = Status{"clock", "Waiting", ""}

// Interrupted is the status of a session or chat whose turn was interrupted by a restart.
var Interrupted = Status{"stop", "Interrupted", "need"}

// StatusOf describes a session's or chat's status.
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

// people returns the names that a script suggests after @, as JSON.
func (f Frame) people() string {
	if len(f.Names) == 0 {
		return ""
	}
	b, err := json.Marshal(f.Names)
	if err != nil {
		return "" // strings always encode
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

// nextTheme returns the theme after the current one: system, light, dark, system.
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

// Here marks a link to the current page.
func Here(on bool) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"aria-current": "page"}
}

// SetupNote describes something that the server lacks, and a fix.
type SetupNote struct {
	Text, Fix string
	Risk      bool // programs can do more than they should
}
