package visitors

import (
	"context"
	"slices"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/templ/part"
)

// peopleRoom renders who is viewing a session, and where, as far as its audience may know. None of it is in the
// timeline, so clients of the protocol do not get it.
type peopleRoom struct {
	p     *Pages
	uri   ahp.URI
	aud   hub.Audience
	list  []part.Person // as last rendered
	faces live.Regions
}

const peoplePace = 250 * time.Millisecond // people move all the time

// NewRoom opens "people:<short>".
func (p *Pages) NewRoom(ctx context.Context, who access.Principal, rest []string) (live.Room, error) {
	if len(rest) != 1 {
		return nil, live.ErrGone
	}
	uri, ok := p.Host.SessionByShort(rest[0])
	if !ok || !site.Sees(who, uri, uri, ahp.ChannelSession) {
		return nil, live.ErrGone
	}
	if err := p.Prepare(ctx, who, uri); err != nil {
		return nil, err
	}
	return &peopleRoom{p: p, uri: uri, aud: who.Audience(), faces: live.Regions{}}, nil
}

// Channels implements live.Room. The room ends with the session.
func (r *peopleRoom) Channels() []ahp.URI { return []ahp.URI{r.uri} }

// Pace implements live.Pacer: a scrolling reader is rendered at most four times a second.
func (r *peopleRoom) Pace() time.Duration { return peoplePace }

// Watch pings when people join, leave or move.
func (r *peopleRoom) Watch(ping func()) (stop func()) {
	changed, cancel := r.p.Presence.Watch(r.uri)
	return live.PingOn(changed, cancel, ping)
}

// Opened records what the first page has.
func (r *peopleRoom) Opened(live.States) { r.draw() }

// People returns the list in the newest frame.
func (r *peopleRoom) People() []part.Person { return r.list }

// draw updates the list and returns its faces if they changed.
func (r *peopleRoom) draw() []live.Patch {
	r.list = r.p.company(r.uri, r.aud)
	return r.faces.Changed(live.Replace("faces", part.Faces(r.list)))
}

// Whole renders all people.
func (r *peopleRoom) Whole(live.States) []live.Patch {
	return []live.Patch{live.Replace("presence", part.PresencePart(r.list))}
}

// Changed sends who joined, moved and left. People are compared before they are rendered: in a busy session someone
// always moves.
func (r *peopleRoom) Changed(_ live.States, news live.News) (out []live.Patch) {
	if !news.Pinged {
		return nil
	}
	was := r.list
	faces := r.draw()
	now := part.Listed(r.list)
	for _, p := range part.Listed(was) {
		if !slices.ContainsFunc(now, func(o part.Person) bool { return o.ID == p.ID }) {
			out = append(out, live.Remove(p.Element()))
		}
	}
	for _, p := range now {
		if !slices.Contains(was, p) {
			out = append(out, live.Append("people", part.PersonPart(p)))
		}
	}
	return append(out, faces...)
}

// company returns the viewers of a session as an audience may see them.
func (p *Pages) company(uri ahp.URI, aud hub.Audience) []part.Person {
	list := p.Presence.People(uri)
	names := map[string]string{}
	for _, x := range list {
		names[x.ID] = x.Name
	}
	out := make([]part.Person, 0, len(list))
	for _, x := range list {
		o := part.Person{ID: x.ID, Name: x.Name, Hue: x.Hue, Guest: x.Guest, Away: x.Place.Away,
			Follows: x.Place.Follows, FollowsName: names[x.Place.Follows]}
		if known(aud, uri, x.Place) {
			o.Place = p.placeOf(uri, x.Place)
		}
		out = append(out, o)
	}
	return out
}

// placeOf describes a place, with everything that a page needs to go there.
func (p *Pages) placeOf(uri ahp.URI, at presence.Place) part.Spot {
	return part.Spot{Page: at.Page, In: at.In, Of: p.placeName(uri, at), Href: at.Href, File: at.File, Path: at.Path,
		Line: at.Line, Top: at.Top, Typing: at.Typing}
}

// placeName returns the name of a terminal, or of a chat if there are several.
func (p *Pages) placeName(uri ahp.URI, at presence.Place) string {
	switch at.Kind {
	case ahp.ChannelTerminal:
		return p.terminals.Title(uri, at.Channel)
	case ahp.ChannelChat:
		s := p.SessionState(uri)
		for _, c := range s.Chats {
			if c.Resource == at.Channel && len(s.Chats) > 1 {
				return c.Title
			}
		}
	}
	return ""
}
