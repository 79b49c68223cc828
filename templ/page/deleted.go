package page

import "github.com/ahphub/ahphub/templ/part"

// Deleted is the page of deleted sessions that can be restored.
type Deleted struct {
	Frame part.Frame
	Items []DeletedItem
	Most  int // most that are kept
}

// DeletedItem is a deleted session.
type DeletedItem struct{ Short, Title, Agent, Dir, Ago string }
