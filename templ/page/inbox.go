package page

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/templ/part"
)

// Inbox is the first page: what waits for a person, then what runs, then the rest.
type Inbox struct {
	Frame   part.Frame
	Filter  string
	Saves   bool          // the reader can save filters
	Filters []SavedFilter // of the reader
	List    InboxList
}

// SavedFilter is a search of the inbox under a name.
type SavedFilter struct{ Name, Find string }

// savedName is the name of the filter in use; "" when it is not saved.
func (m Inbox) savedName() string {
	for _, f := range m.Filters {
		if f.Find == m.Filter {
			return f.Name
		}
	}
	return ""
}

func filterHref(find string) string { return "/?" + url.Values{"q": {find}}.Encode() }

// InboxList is the part that changes.
type InboxList struct {
	Groups []InboxGroup
	Owner  bool // of the host, who makes sessions
	Needs  int
	Total  int    // sessions that match, shown or not
	More   string // address of the next page
	Gone   int    // sessions that can be restored

	Setup   []part.SetupNote // for the owner alone
	Unboxed bool             // sessions are usually in no sandbox
	NoAgent bool             // there is no agent but Shell, and the owner may add one
}

// InboxGroup is a heading and what stands below it.
type InboxGroup struct {
	Name  string // "Needs you", "Pinned", "Running", "To review", "Idle", "Archived"
	Items []InboxItem
	Files []FileAsk // requests for files; before the sessions
}

// InboxItem is one session.
type InboxItem struct {
	Short, Title, Agent, Activity string
	Away                          string // why the session's machine can't be reached; "" when it can
	Repository, Dir, Branch       string
	By                            string // who sent the last message
	Age, Modified                 string
	Status                        part.Status
	Unread                        bool
	Add, Del, Files               int64
	Threads                       int64
	Asks                          []Ask
	Verdicts                      []part.Verdict // that stand
	Called                        string         // who mentioned the reader; "" for no one
	Keeps                         bool           // the reader can pin sessions
	Pinned                        bool
	Sandbox                       Unlike        // how its sandbox differs from the usual one
	Labels                        []SavedFilter // each with the search that finds it
}

// Unlike says that a session is in a sandbox, or in none, where others are the other way.
type Unlike struct{ Boxed, Unboxed bool }

// impliedBy are the words of a status that a heading says already.
var impliedBy = map[string]string{"Needs you": "Needs you", "Running": "Running", "To review": "Idle", "Idle": "Idle",
	"Archived": "Archived"}

// saidBy reports whether a heading says the status.
func (it *InboxItem) saidBy(group string) bool { return impliedBy[group] == it.Status.Word }

func (it *InboxItem) pinWords() string {
	if it.Pinned {
		return "Unpin " + it.Title
	}
	return "Pin " + it.Title
}

// labelText is the labels as they are typed.
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

// Ask is something that can be answered from the list.
type Ask struct {
	Turn part.Turn // what an approval card needs to know of its turn
	Tool part.Tool
	Href string // for questions: where they are answered
	Text string
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
