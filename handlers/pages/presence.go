package pages

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/templ/part"
)

// gather shows a page of a session who is here, and has its stream say where its reader is: in what of the page's kind,
// as the id of a chat.
func (p *Pages) gather(ctx context.Context, v visit, f *part.Frame, in string) error {
	mark, err := p.open(ctx, v.who, "people:"+v.short, func(room Room, _ States) { f.Session.People = room.(*peopleRoom).people() })
	f.Live += "&" + liveQuery(mark) + "&" + url.Values{"s": {v.short}, "at": {f.Tab}, "in": {in}}.Encode()
	return err
}

// present shows the reader of a stream to the others of the session its page belongs to.
func (p *Pages) present(who access.Principal, r *http.Request) *presence.Visit {
	uri, ok := p.Host.SessionByShort(r.FormValue("s"))
	if !ok || !sees(who, uri, uri, ahp.ChannelSession) {
		return nil
	}
	v := visit{who: who, session: uri, short: r.FormValue("s")}
	return p.Presence.Join(who, uri, p.place(r.Context(), v, r.FormValue("at"), r.FormValue("in")))
}

// place is what a page says it shows, as far as that exists and its reader may see it.
func (p *Pages) place(ctx context.Context, v visit, at, in string) (out presence.Place) {
	out.Page, out.In = at, in
	base := "/s/" + v.short
	switch at {
	case "chat":
		if uri, ok := chatByID(p.sessionState(v.session), in); ok {
			out.Channel, out.Kind, out.Href = uri, ahp.ChannelChat, base+"/c/"+part.Tail(uri)
		}
	case "changes":
		if l, err := p.settle(ctx, v.who, look{short: v.short, session: v.session, scope: in}); err == nil {
			out.Channel, out.Kind, out.Href = l.changeset(), ahp.ChannelChangeset, l.page()
		}
	case "terminals":
		out.Href = base + "/t"
		if uri, err := p.terminalURI(v, in); err == nil {
			out.Channel, out.Kind, out.Href = uri, ahp.ChannelTerminal, base+"/t/"+in
		}
	case "threads":
		out.Href = base + "/threads"
	case "share", "worktree":
	default:
		return presence.Place{Page: "session"}
	}
	if !known(v.who.Audience(), v.session, out) {
		return presence.Place{Page: "session"}
	}
	return out
}

// ear hears where the reader of a page goes until the stream ends.
type ear struct {
	ctx   context.Context // ends when the page leaves
	visit *presence.Visit
	ended chan struct{}
}

func (e ear) wait() { <-e.ended }

const (
	mostSaid   = 1024                   // bytes a page says at once
	hearPacing = 200 * time.Millisecond // between two things it says: who says more waits
)

// listen reads what a page says until it leaves; its reader is there as long.
func (p *Pages) listen(ctx context.Context, c *websocket.Conn, v *presence.Visit) ear {
	ctx, gone := context.WithCancel(ctx)
	e := ear{ctx, v, make(chan struct{})}
	go func() {
		defer close(e.ended)
		defer v.End()
		defer gone()
		c.SetReadLimit(mostSaid)
		for p.hear(ctx, c, v) == nil {
			select {
			case <-ctx.Done():
			case <-time.After(hearPacing):
			}
		}
	}()
	return e
}

// hear takes one thing a page says. The stream's end closes the connection, which is what ends the reading: a page whose
// reader was shut out is told so first.
func (p *Pages) hear(ctx context.Context, c *websocket.Conn, v *presence.Visit) error {
	_, b, err := c.Read(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	var said spot
	if err := json.Unmarshal(b, &said); err != nil {
		return c.Close(websocket.StatusPolicyViolation, "not a place")
	}
	v.Move(p.moved(v, said.clean()))
	return nil
}

// moved is a place of the same page.
func (p *Pages) moved(v *presence.Visit, to spot) presence.Place {
	at := v.At()
	if at.File != to.File {
		at.File, at.Path = to.File, p.pathOf(v.Session(), at.Channel, to.File)
	}
	at.Line, at.Top, at.Typing, at.Follows, at.Away = to.Line, to.Top, to.Typing, to.Follows, to.Away
	return at
}

// spot is where in a page its reader is, as the page says it.
type spot struct {
	File    string `json:"f"`
	Line    string `json:"l"`
	Top     string `json:"t"`
	Typing  string `json:"w"`
	Follows string `json:"o"`
	Away    bool   `json:"a"`
}

// spotWord is what may stand in a spot: keys of files, lines, ids. Nothing a person could read a sentence into.
var spotWord = regexp.MustCompile(`^[\w.:~-]{0,160}$`)

func (s spot) clean() spot {
	for _, w := range []*string{&s.File, &s.Line, &s.Top, &s.Typing, &s.Follows} {
		if !spotWord.MatchString(*w) {
			*w = ""
		}
	}
	return s
}

// pathOf finds the path of a file of a changeset by its key; "" when there is none.
func (p *Pages) pathOf(session, changeset ahp.URI, key string) string {
	if key == "" || changeset == "" {
		return ""
	}
	cs, _ := hub.StateOf[*ahp.ChangesetState](p.Hub, changeset)
	if cs == nil {
		return ""
	}
	i := slices.IndexFunc(cs.Files, func(f ahp.ChangesetFile) bool { return part.DiffKey(f.ID) == key })
	if i < 0 {
		return ""
	}
	var d part.DiffFile
	describe(&d, &cs.Files[i], p.sessionState(session).WorkingDirectories)
	return d.Path
}

// known tells whether an audience may know where somebody is.
func known(aud hub.Audience, session ahp.URI, at presence.Place) bool {
	return at.Channel == "" || aud.Sees(hub.ChannelInfo{URI: at.Channel, Kind: at.Kind, Session: session})
}
