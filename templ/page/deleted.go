package page

import "github.com/ahphub/ahphub/templ/part"

// Deleted is the page of sessions that were deleted and can be restored.
type Deleted struct {
	Frame part.Frame
	Items []DeletedItem
	Most  int // of them are kept
}

// DeletedItem is one of them.
type DeletedItem struct{ Short, Title, Agent, Dir, Ago string }
