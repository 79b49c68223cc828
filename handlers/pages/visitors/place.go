package visitors

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/templ/part"
)

// visitor is the reader of a stream, as shown to other viewers of the page's session.
type visitor struct {
	*presence.Visit // nil: the page belongs to no session
	p               *Pages
}

// ShowVisitor shows the reader of a stream to other viewers of the session.
func (p *Pages) ShowVisitor(r *http.Request, who access.Principal) live.Visitor {
	uri, ok := p.Host.SessionByShort(r.FormValue("s"))
	if !ok || !site.Sees(who, uri, uri, ahp.ChannelSession) {
		return visitor{nil, p}
	}
	v := site.Visit{Who: who, Session: uri, Short: r.FormValue("s")}
	return visitor{p.Presence.Join(who, uri, p.place(r.Context(), v, r.FormValue("at"), r.FormValue("in"))), p}
}

var errNoPlace = errors.New("not a place")

// Hear updates the reader's position on their page.
func (v visitor) Hear(b []byte) error {
	var said spot
	if err := json.Unmarshal(b, &said); err != nil {
		return errNoPlace
	}
	v.Move(v.p.moved(v.Visit, said.clean()))
	return nil
}

// place returns the place that a page reports, if it exists and its reader may see it.
func (p *Pages) place(ctx context.Context, v site.Visit, at, in string) (out presence.Place) {
	out.Page, out.In = at, in
	base := "/s/" + v.Short
	switch at {
	case "chat":
		if uri, ok := site.ChatByID(p.SessionState(v.Session), in); ok {
			out.Channel, out.Kind, out.Href = uri, ahp.ChannelChat, base+"/c/"+part.Tail(uri)
		}
	case "changes":
		if uri, href, err := p.changes.Locate(ctx, v, in); err == nil {
			out.Channel, out.Kind, out.Href = uri, ahp.ChannelChangeset, href
		}
	case "terminals":
		out.Href = base + "/t"
		if uri, err := p.terminals.Find(v, in); err == nil {
			out.Channel, out.Kind, out.Href = uri, ahp.ChannelTerminal, base+"/t/"+in
		}
	case "threads":
		out.Href = base + "/threads"
	case "share", "worktree":
	default:
		return presence.Place{Page: "session"}
	}
	if !known(v.Who.Audience(), v.Session, out) {
		return presence.Place{Page: "session"}
	}
	return out
}

// moved returns a new position on the same page.
func (p *Pages) moved(v *presence.Visit, to spot) presence.Place {
	at := v.At()
	if at.File != to.File {
		at.File, at.Path = to.File, p.changes.PathOf(v.Session(), at.Channel, to.File)
	}
	at.Line, at.Top, at.Typing, at.Follows, at.Away = to.Line, to.Top, to.Typing, to.Follows, to.Away
	return at
}

// spot is the reader's position on a page, as the page reports it.
type spot struct {
	File    string `json:"f"`
	Line    string `json:"l"`
	Top     string `json:"t"`
	Typing  string `json:"w"`
	Follows string `json:"o"`
	Away    bool   `json:"a"`
}

// spotWord matches the values of a spot: keys of files, lines, ids. It does not match sentences.
var spotWord = regexp.MustCompile(`^[\w.:~-]{0,160}$`)

func (s spot) clean() spot {
	for _, w := range []*string{&s.File, &s.Line, &s.Top, &s.Typing, &s.Follows} {
		if !spotWord.MatchString(*w) {
			*w = ""
		}
	}
	return s
}

// known reports whether an audience may see a place.
func known(aud hub.Audience, session ahp.URI, at presence.Place) bool {
	return at.Channel == "" || aud.Sees(hub.ChannelInfo{URI: at.Channel, Kind: at.Kind, Session: session})
}
