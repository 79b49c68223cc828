package page

import (
	"strconv"

	"github.com/ahphub/ahphub/templ/part"
)

// Inbox is the first page: what waits for a person, then what runs, then the rest.
type Inbox struct {
	Frame  part.Frame
	Filter string
	List   InboxList
}

// InboxList is the part that changes.
type InboxList struct {
	Groups []InboxGroup
	Owner  bool // of the host, who makes sessions
	Needs  int
	Total  int    // sessions that match, shown or not
	More   string // address of the next page
	Gone   int    // sessions that can be restored
}

// InboxGroup is a heading and what stands below it.
type InboxGroup struct {
	Name  string // "Needs you", "Running", "To review", "Idle", "Archived"
	Items []InboxItem
	Files []FileAsk // requests for files; before the sessions
}

// InboxItem is one session.
type InboxItem struct {
	Short, Title, Agent, Dir, Activity, Age string
	Status                                  part.Status
	Unread                                  bool
	Add, Del, Files                         int64
	Threads                                 int64
	Asks                                    []Ask
	Verdicts                                []part.Verdict // that stand
	Called                                  string         // who mentioned the reader; "" for no one
}

// Ask is something that can be answered from the list.
type Ask struct {
	Turn part.Turn // what an approval card needs to know of its turn
	Tool part.Tool
	Href string // for questions: where they are answered
	Text string
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
