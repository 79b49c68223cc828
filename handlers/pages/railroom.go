package pages

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// railRoom draws the column of sessions. What sessions there are is no channel but notifications of root, which are
// not replayed, so every change and every resume draws it anew.
type railRoom struct {
	live.Redraw
	p *Pages
}

func (p *Pages) newRailRoom(_ context.Context, who access.Principal, _ []string) (live.Room, error) {
	r := &railRoom{p: p}
	r.Draw = func(live.States) []live.Patch {
		return []live.Patch{live.Replace("rail-list", part.RailList(p.railItems(core.Caller{Principal: who}), ""))}
	}
	return r, nil
}

// Channels of the room: notifications arrive on root.
func (r *railRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings once a minute, as ages grow, and when a client asks for files.
func (r *railRoom) Watch(ping func()) (stop func()) {
	clock, files := live.PingEvery(time.Minute, ping), r.p.watchFiles(ping)
	return func() { clock(); files() }
}

const mostRail = 60 // sessions in the rail; the inbox has the rest

// railItems lists what is not archived: what needs an answer first, then what runs, then the newest.
func (p *Pages) railItems(c core.Caller) []part.RailItem {
	out := append([]part.RailItem{}, p.fileRail(c)...)
	for _, g := range p.groups(c, "") {
		if g.Name == "Archived" {
			continue
		}
		for _, s := range g.list {
			if len(out) == mostRail {
				return out
			}
			out = append(out, p.railItem(c.Principal, s, g.Name))
		}
	}
	return out
}

func (p *Pages) railItem(who access.Principal, s ahp.SessionSummary, group string) part.RailItem {
	it := part.RailItem{Short: core.ShortID(s.Resource), Title: titleOf(s.Title), Status: p.statusFor(who, s), Group: group,
		Unread: !s.Status.Has(ahp.SessionStatusIsRead), Age: part.Age(s.ModifiedAt, p.Now())}
	if s.Changes != nil {
		it.Add, it.Del = number(s.Changes.Additions), number(s.Changes.Deletions)
	}
	return it
}

// inboxRoom draws the first page's list.
type inboxRoom struct{ railRoom }

// newInboxRoom opens "inbox"; only the unfiltered first page is live.
func (p *Pages) newInboxRoom(_ context.Context, who access.Principal, _ []string) (live.Room, error) {
	r := &inboxRoom{railRoom{p: p}}
	r.Draw = func(live.States) []live.Patch {
		list := p.inboxList(context.Background(), core.Caller{Principal: who}, "", 0)
		return []live.Patch{live.Replace("inbox", page.InboxListPart(list, ""))}
	}
	return r, nil
}

// Watch pings as the rail does, and when a verdict or a mention changes.
func (r *inboxRoom) Watch(ping func()) (stop func()) {
	rail, desks := r.railRoom.Watch(ping), r.p.watchDesk("", ping)
	return func() { rail(); desks() }
}
