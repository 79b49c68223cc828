package page

// ThreadLine is an open thread in the pane beside a chat.
type ThreadLine struct {
	Href, Where, By, Text string
	Unread                bool
	Entries               int
}
