package pages

import (
	"context"
	"net/url"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
)

// roomKinds is how a room's name is read: its first word, and what makes it. A name goes into addresses, so it is
// made of letters, digits, dots, dashes and colons.
var roomKinds = map[string]func(p *Pages, ctx context.Context, who access.Principal, rest []string) (Room, error){}

// drawnFor is what a room's HTML depends on besides its audience; those for whom it is the same share the room.
var drawnFor = map[string]func(who access.Principal) string{}

// feed opens the room of a name, as "chat:<short>:<chat id>", for whoever asks; their audience decides what they see.
func (p *Pages) feed(ctx context.Context, who access.Principal, name string) (*feed, error) {
	parts := strings.Split(name, ":")
	make := roomKinds[parts[0]]
	if make == nil {
		return nil, errNotFound("There is no such live room: reload the page.")
	}
	if err := access.MayFollow(who, parts[0]); err != nil {
		return nil, err
	}
	of := ""
	if drawn := drawnFor[parts[0]]; drawn != nil {
		of = drawn(who)
	}
	return p.feeds.get(ctx, who.Audience(), of, name, func() (Room, error) {
		return make(p, context.WithoutCancel(ctx), who, parts[1:])
	})
}

// open draws from a room at one moment and returns the mark its stream goes on from.
func (p *Pages) open(ctx context.Context, who access.Principal, name string, draw func(Room, States)) (mark string, err error) {
	for try := 0; ; try++ {
		f, err := p.feed(ctx, who, name)
		if err != nil {
			return "", err
		}
		mark, err = f.view(ctx, draw)
		if err == nil || try > 0 || !f.over() {
			return mark, err
		}
		// it ended between the two, as nobody had looked for a while: its successor answers
	}
}

// prepare has channels in memory before a room subscribes to them.
func (p *Pages) prepare(ctx context.Context, who access.Principal, uris ...ahp.URI) error {
	c := host.Caller{Principal: who, ClientID: "page:" + who.ID}
	for _, u := range uris {
		if err := p.Host.Prepare(ctx, c, u); err != nil {
			return err
		}
	}
	return nil
}

// liveQuery is the query of /live for marks; empty ones are left out.
func liveQuery(marks ...string) string {
	q := url.Values{}
	for _, m := range marks {
		if m != "" {
			q.Add("f", m)
		}
	}
	return q.Encode()
}

// joinLive adds marks to a query of /live.
func joinLive(query string, marks ...string) string { return query + "&" + liveQuery(marks...) }
