package pages

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func init() {
	roomKinds["rail"] = newRailRoom
	roomKinds["inbox"] = newInboxRoom
	drawnFor["rail"] = mayAnswer
	drawnFor["inbox"] = func(who access.Principal) string { return who.ID + mayAnswer(who) } // it says who is mentioned
}

// railRoom draws the column of sessions. What sessions there are is no channel but notifications of root, which are
// not replayed, so every change and every resume draws it anew.
type railRoom struct {
	p     *Pages
	who   access.Principal
	drawn string
}

func newRailRoom(p *Pages, ctx context.Context, who access.Principal, _ []string) (Room, error) {
	return &railRoom{p: p, who: who}, nil
}

// Channels of the room: notifications arrive on root.
func (r *railRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings once a minute, as ages grow, and when a client asks for files.
func (r *railRoom) Watch(ping func()) (stop func()) {
	clock, files := everyMinute(ping), r.p.watchFiles(ping)
	return func() { clock(); files() }
}

func everyMinute(ping func()) (stop func()) {
	t := time.NewTicker(time.Minute)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-t.C:
				ping()
			case <-done:
				return
			}
		}
	}()
	return func() { t.Stop(); close(done); <-ended }
}

// Opened notes what the first page has.
func (r *railRoom) Opened(States) { r.drawn = r.draw().html }

func (r *railRoom) draw() Patch {
	return Replace("rail-list", part.RailList(r.p.railItems(host.Caller{Principal: r.who}), ""))
}

// Whole draws the list.
func (r *railRoom) Whole(States) []Patch { return []Patch{r.draw()} }

// Changed draws the list if it looks different.
func (r *railRoom) Changed(States, News) []Patch {
	p := r.draw()
	if p.html == r.drawn {
		return nil
	}
	r.drawn = p.html
	return []Patch{p}
}

const mostRail = 60 // sessions in the rail; the inbox has the rest

// railItems lists what is not archived: what needs somebody first, then what runs, then the newest.
func (p *Pages) railItems(c host.Caller) []part.RailItem {
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
	it := part.RailItem{Short: host.ShortID(s.Resource), Title: titleOf(s.Title), Status: p.statusFor(who, s), Group: group,
		Unread: !s.Status.Has(ahp.SessionStatusIsRead), Age: part.Age(s.ModifiedAt, p.Now())}
	if s.Changes != nil {
		it.Add, it.Del = number(s.Changes.Additions), number(s.Changes.Deletions)
	}
	return it
}

// inboxRoom draws the first page's list.
type inboxRoom struct{ railRoom }

// newInboxRoom opens "inbox"; only the unfiltered first page is live.
func newInboxRoom(p *Pages, _ context.Context, who access.Principal, _ []string) (Room, error) {
	return &inboxRoom{railRoom: railRoom{p: p, who: who}}, nil
}

func (r *inboxRoom) draw() Patch {
	return Replace("inbox", page.InboxListPart(r.p.inboxList(context.Background(), host.Caller{Principal: r.who}, "", 0), ""))
}

// Watch pings as the rail does, and when somebody decides or is called.
func (r *inboxRoom) Watch(ping func()) (stop func()) {
	rail, desks := r.railRoom.Watch(ping), r.p.watchDesk("", ping)
	return func() { rail(); desks() }
}

// Opened notes what the first page has.
func (r *inboxRoom) Opened(States) { r.drawn = r.draw().html }

// Whole draws the list.
func (r *inboxRoom) Whole(States) []Patch { return []Patch{r.draw()} }

// Changed draws the list if it looks different.
func (r *inboxRoom) Changed(States, News) []Patch {
	p := r.draw()
	if p.html == r.drawn {
		return nil
	}
	r.drawn = p.html
	return []Patch{p}
}
