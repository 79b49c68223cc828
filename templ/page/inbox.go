package page

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/templ/part"
)

// Inbox is the first page: sessions that need an answer, then running ones, then the rest.
type Inbox struct {
	Frame   part.Frame
	Filter  string
	Saves   bool          // the reader may save filters
	Filters []SavedFilter // saved by the reader
	List    InboxList
}

// SavedFilter is a named search of the inbox.
type SavedFilter struct{ Name, Find string }

// savedName returns the name of the filter in use; "" if it is not saved.
func (m Inbox) savedName() string {
	for _, f := range m.Filters {
		if f.Find == m.Filter {
			return f.Name
		}
	}
	return ""
}

func filterHref(find string) string { return "/?" + url.Values{"q": {find}}.Encode() }

// InboxList is the part of the inbox that live patches replace.
type InboxList struct {
	Groups []InboxGroup
	Owner  bool // the reader is the owner, who creates sessions
	Needs  int
	Total  int    // sessions that match, shown or not
	More   string // address of the next page
	Gone   int    // sessions that can be restored

	Setup   []part.SetupNote // only for the owner
	Unboxed bool             // by default, sessions run without a sandbox
	NoAgent bool             // Shell is the only agent, and the owner may add one
}

// InboxGroup is a group of sessions with a heading.
type InboxGroup struct {
	Name  string // "Needs you", "Pinned", "Running", "To review", "Idle", "Archived"
	Items []InboxItem
	Files []FileAsk // requests for files; shown before the sessions
}

// InboxItem is one session.
type InboxItem struct {
	Short, Title, Agent, Activity string
	Away                          string // why the machine is unreachable; "" if it is reachable
	Repository, Dir, Branch       string
	By                            string // sender of the last message
	Age, Modified                 string
	Status                        part.Status
	Unread                        bool
	Add, Del, Files               int64
	Threads                       int64
	Asks                          []Ask
	Verdicts                      []part.Verdict // current verdicts
	Called                        string         // who mentioned the reader; "" if not mentioned
	Keeps                         bool           // the reader may pin sessions
	Pinned                        bool
	Sandbox                       Unlike        // difference from the default sandbox
	Labels                        []SavedFilter // each with its search
}

// Unlike marks a session that is sandboxed, or not, unlike the default.
type Unlike struct{ Boxed, Unboxed bool }

// impliedBy maps headings to the status that they imply.
var impliedBy = map[string]string{"Needs you": "Needs you", "Running": "Running", "To review": "Idle", "Idle": "Idle",
	"Archived": "Archived"}

// saidBy reports whether a heading implies the status.
func (it *InboxItem) saidBy(group string) bool { return impliedBy[group] == it.Status.Word }

func (it *InboxItem) pinWords() string {
	if it.Pinned {
		return "Unpin " + it.Title
	}
	return "Pin " + it.Title
}

// labelText returns the labels as text for the input field.
func (it *InboxItem) labelText() string {
	var names []string
	for _, l := range it.Labels {
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}

func threads(n int64) string {
	if n == 1 {
		return "1 thread"
	}
	return itoa(n) + " threads"
}

func yesNo(on bool) string {
	if on {
		return "yes"
	}
	return "no"
}

// Ask is a request that can be answered in the list.
type Ask struct {
	Turn part.Turn // the turn, for the approval card
	Tool part.Tool
	Href string // page that answers a question
	Text string
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
