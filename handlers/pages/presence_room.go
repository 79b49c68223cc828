package pages

import (
	"context"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/templ/part"
)

func init() { roomKinds["people"] = newPeopleRoom }

// peopleRoom draws who is in a session, and where, as far as its audience may know. Nothing of it is in the timeline:
// clients of the protocol are told nothing.
type peopleRoom struct {
	p     *Pages
	uri   ahp.URI
	aud   hub.Audience
	list  []part.Person // as drawn last
	faces string
}

const peoplePace = 250 * time.Millisecond // people move all the time

// newPeopleRoom opens "people:<short>".
func newPeopleRoom(p *Pages, ctx context.Context, who access.Principal, rest []string) (Room, error) {
	if len(rest) != 1 {
		return nil, errGone
	}
	uri, ok := p.Host.SessionByShort(rest[0])
	if !ok || !sees(who, uri, uri, ahp.ChannelSession) {
		return nil, errGone
	}
	if err := p.prepare(ctx, who, uri); err != nil {
		return nil, err
	}
	return &peopleRoom{p: p, uri: uri, aud: who.Audience()}, nil
}

// Channels of the room: it ends with the session.
func (r *peopleRoom) Channels() []ahp.URI { return []ahp.URI{r.uri} }

// Pace of the room: whoever scrolls is drawn four times a second at most.
func (r *peopleRoom) Pace() time.Duration { return peoplePace }

// Watch pings when somebody comes, goes or moves.
func (r *peopleRoom) Watch(ping func()) (stop func()) {
	changed, cancel := r.p.Presence.Watch(r.uri)
	return pingOn(changed, cancel, ping)
}

// Opened notes what the first page has.
func (r *peopleRoom) Opened(States) { r.draw() }

// people as the newest frame shows them.
func (r *peopleRoom) people() []part.Person { return r.list }

func (r *peopleRoom) draw() {
	r.list = r.p.company(r.uri, r.aud)
	r.faces = render(part.Faces(r.list))
}

// Whole draws everybody.
func (r *peopleRoom) Whole(States) []Patch {
	return []Patch{Replace("presence", part.PresencePart(r.list))}
}

// Changed sends who came, moved and left.
func (r *peopleRoom) Changed(_ States, news News) (out []Patch) {
	if !news.Pinged {
		return nil
	}
	was, faces := r.list, r.faces
	r.draw()
	now := part.Listed(r.list)
	for _, p := range part.Listed(was) {
		if !slices.ContainsFunc(now, func(o part.Person) bool { return o.ID == p.ID }) {
			out = append(out, Remove(p.Element()))
		}
	}
	for _, p := range now {
		if !slices.Contains(was, p) {
			out = append(out, Append("people", part.PersonPart(p)))
		}
	}
	if r.faces != faces {
		out = append(out, Replace("faces", part.Faces(r.list)))
	}
	return out
}

// company is the people of a session as an audience may see them.
func (p *Pages) company(uri ahp.URI, aud hub.Audience) []part.Person {
	list := p.Presence.People(uri)
	names := map[string]string{}
	for _, x := range list {
		names[x.ID] = x.Name
	}
	out := make([]part.Person, 0, len(list))
	for _, x := range list {
		o := part.Person{ID: x.ID, Name: x.Name, Hue: x.Hue, Guest: x.Guest, Away: x.Place.Away, Follows: x.Place.Follows, FollowsName: names[x.Place.Follows]}
		if known(aud, uri, x.Place) {
			o.Place = p.placeOf(uri, x.Place)
		}
		out = append(out, o)
	}
	return out
}

// placeOf is a place in words, and all that a page needs to go there.
func (p *Pages) placeOf(uri ahp.URI, at presence.Place) part.Spot {
	return part.Spot{Page: at.Page, In: at.In, Of: p.placeName(uri, at), Href: at.Href, File: at.File, Path: at.Path, Line: at.Line, Top: at.Top, Typing: at.Typing}
}

// placeName is what a chat or terminal is called, where there are several.
func (p *Pages) placeName(uri ahp.URI, at presence.Place) string {
	switch at.Kind {
	case ahp.ChannelTerminal:
		for _, t := range p.sessionTerminals(uri) {
			if t.Resource == at.Channel {
				return t.Title
			}
		}
	case ahp.ChannelChat:
		s := p.sessionState(uri)
		for _, c := range s.Chats {
			if c.Resource == at.Channel && len(s.Chats) > 1 {
				return c.Title
			}
		}
	}
	return ""
}
