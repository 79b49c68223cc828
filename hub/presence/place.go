package presence

import (
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// Place is what an open page shows, and where in it its reader is. Every text is at most 200 bytes.
type Place struct {
	Page    string // "chat", "changes", "threads", "terminals" …
	Channel ahp.URI
	Kind    ahp.ChannelKind // of Channel, which decides who may know; without one it is the session's own
	In      string          // what of its kind the page shows: a chat, a scope, a terminal
	Href    string          // address of the page; "" when there is nothing to go to

	File, Path string // key and path of the file looked at, in a review
	Line       string // line the reader is at, as "R12"
	Top        string // what stands at the top of the page: a line, turn or thread; "end" for whoever reads what comes
	Typing     string // "message", "comment" or "reply:<thread>" while they write
	Follows    string // id of whom they follow
	Away       bool   // has not touched the page for a while
}

// clipped keeps what a page says of itself short.
func (p Place) clipped() Place {
	for _, s := range []*string{&p.Page, &p.In, &p.Href, &p.File, &p.Path, &p.Line, &p.Top, &p.Typing, &p.Follows} {
		*s = texts.CutBytes(*s, 200)
	}
	return p
}
