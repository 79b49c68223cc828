package terminals

import (
	"context"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// tabsRoom updates the tabs of a session's terminals.
type tabsRoom struct {
	live.Redraw
	p *Pages
	v site.Visit
}

// NewTabsRoom opens "terminals:<short>".
func (p *Pages) NewTabsRoom(_ context.Context, who access.Principal, rest []string) (live.Room, error) {
	if len(rest) != 1 {
		return nil, live.ErrGone
	}
	v, err := p.VisitByShort(who, rest[0])
	r := &tabsRoom{p: p, v: v}
	r.Draw = r.draw
	return r, err
}

// Channels implements live.Room. root has the list.
func (t *tabsRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings when viewers join or leave: a tab shows the name of the terminal's holder.
func (t *tabsRoom) Watch(ping func()) (stop func()) {
	changed, cancel := t.p.Presence.Watch(t.v.Session)
	return live.PingOn(changed, cancel, ping)
}

func (t *tabsRoom) draw(live.States) []live.Patch {
	m := page.Terminals{Session: part.SessionHead{Short: t.v.Short}, List: t.p.Lines(t.v)}
	return []live.Patch{live.Replace("terminals", page.TerminalTabs(m))}
}

// terminalRoom updates the head and the commands of one terminal.
type terminalRoom struct {
	p        *Pages
	v        site.Visit
	uri      ahp.URI
	regions  live.Regions
	commands live.Regions // the items of their list
}

// NewRoom opens "terminal:<short>:<id>".
func (p *Pages) NewRoom(_ context.Context, who access.Principal, rest []string) (live.Room, error) {
	if len(rest) != 2 {
		return nil, live.ErrGone
	}
	v, err := p.VisitByShort(who, rest[0])
	if err != nil {
		return nil, err
	}
	uri, err := p.Find(v, rest[1])
	return &terminalRoom{p: p, v: v, uri: uri, regions: live.Regions{}, commands: live.Regions{}}, err
}

// Channels implements live.Room. The list in root reports when a terminal exits. The terminal's own
// channel would send all its output; Watch reports the rest.
func (t *terminalRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings when the terminal's holder, title, directory or commands change.
func (t *terminalRoom) Watch(ping func()) (stop func()) {
	changed, cancel := t.p.Host.Changes(t.uri)
	return live.PingOn(changed, cancel, ping)
}

// Opened records what the first page has.
func (t *terminalRoom) Opened(s live.States) { t.Changed(s, live.News{}) }

// Whole renders everything.
func (t *terminalRoom) Whole(live.States) []live.Patch {
	view, s := t.p.terminalView(t.v.Session, t.uri)
	if s == nil {
		return nil
	}
	return []live.Patch{t.head(view), live.Replace("commands-"+view.ID, page.TerminalCommands(t.base(), view))}
}

func (t *terminalRoom) base() string { return "/s/" + t.v.Short }

func (t *terminalRoom) head(view page.Terminal) live.Patch {
	return live.Replace("terminal-"+view.ID, page.TerminalHead(t.base(), view))
}

// Changed sends the regions that changed: the head, each command by itself, so that a new one costs only its own
// line, and the removal of commands that left the scrollback.
func (t *terminalRoom) Changed(_ live.States, _ live.News) []live.Patch {
	view, s := t.p.terminalView(t.v.Session, t.uri)
	if s == nil {
		return nil
	}
	list := make([]live.Item, len(view.Commands))
	for i, c := range view.Commands {
		list[i] = live.Item{ID: page.CommandID(view.ID, c), Patch: live.Append("commandlist-"+view.ID,
			page.TerminalCommandItem(t.base(), view.ID, c))}
	}
	return append(t.regions.Changed(t.head(view)), t.commands.ChangedItems(list...)...)
}
