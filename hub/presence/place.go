package presence

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// Place is what an open page shows and its viewer's position in it. Every text is at most 200
// bytes.
type Place struct {
	Page    string // "chat", "changes", "threads", "terminals" …
	Channel ahp.URI
	Kind    ahp.ChannelKind // of Channel; determines which viewers may know. "": the session itself
	In      string          // the item of its kind that the page shows: a chat, a scope, a terminal
	Href    string          // address of the page; "" when there is none

	File, Path string // key and path of the visible file, in a review
	Line       string // the viewer's line, as "R12"
	Top        string // the item at the top of the page: a line, turn or thread; "end" for a viewer at the end
	Typing     string // "message", "comment" or "reply:<thread>" while the viewer writes
	Follows    string // id of the person they follow
	Away       bool   // idle for a while
}

// clipped truncates the texts that a page reports.
func (p Place) clipped() Place {
	for _, s := range []*string{&p.Page, &p.In, &p.Href, &p.File, &p.Path, &p.Line, &p.Top, &p.Typing, &p.Follows} {
		*s = texts.CutBytes(*s, 200)
	}
	return p
}
