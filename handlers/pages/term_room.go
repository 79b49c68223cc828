package pages

import (
	"context"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func init() {
	roomKinds["terminals"] = newTabsRoom
	roomKinds["terminal"] = newTerminalRoom
}

// terminalVisit is the session a room of terminals belongs to, for one who may see it.
func (p *Pages) terminalVisit(who access.Principal, short string) (visit, error) {
	uri, ok := p.Host.SessionByShort(short)
	if !ok || !sees(who, uri, uri, ahp.ChannelSession) {
		return visit{}, errGone
	}
	return visit{who: who, session: uri, short: short}, nil
}

// drawnParts are the regions of a room as they were last sent.
type drawnParts map[string]string

// changed keeps of patches those that look different from what was sent.
func (d drawnParts) changed(all []Patch) (out []Patch) {
	for _, p := range all {
		if d[p.id] != p.html {
			d[p.id] = p.html
			out = append(out, p)
		}
	}
	return out
}

// tabsRoom keeps the tabs of a session's terminals.
type tabsRoom struct {
	p     *Pages
	v     visit
	drawn drawnParts
}

// newTabsRoom opens "terminals:<short>".
func newTabsRoom(p *Pages, _ context.Context, who access.Principal, rest []string) (Room, error) {
	if len(rest) != 1 {
		return nil, errGone
	}
	v, err := p.terminalVisit(who, rest[0])
	return &tabsRoom{p: p, v: v, drawn: drawnParts{}}, err
}

// Channels of the room: root has the list.
func (t *tabsRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings when somebody comes or goes: a tab shows who has the keyboard.
func (t *tabsRoom) Watch(ping func()) (stop func()) {
	changed, cancel := t.p.Presence.Watch(t.v.session)
	return pingOn(changed, cancel, ping)
}

// Opened notes what the first page has.
func (t *tabsRoom) Opened(s States) { t.drawn.changed(t.Whole(s)) }

// Whole draws the tabs.
func (t *tabsRoom) Whole(States) []Patch {
	m := page.Terminals{Session: part.SessionHead{Short: t.v.short}, List: t.p.terminalLines(t.v)}
	return []Patch{Replace("terminals", page.TerminalTabs(m))}
}

// Changed sends the tabs when they look different.
func (t *tabsRoom) Changed(s States, _ News) []Patch { return t.drawn.changed(t.Whole(s)) }

// terminalRoom keeps the head and the commands of one terminal.
type terminalRoom struct {
	p     *Pages
	v     visit
	uri   ahp.URI
	drawn drawnParts
	items drawnParts // of the list of commands
}

// newTerminalRoom opens "terminal:<short>:<id>".
func newTerminalRoom(p *Pages, _ context.Context, who access.Principal, rest []string) (Room, error) {
	if len(rest) != 2 {
		return nil, errGone
	}
	v, err := p.terminalVisit(who, rest[0])
	if err != nil {
		return nil, err
	}
	uri, err := p.terminalURI(v, rest[1])
	return &terminalRoom{p: p, v: v, uri: uri, drawn: drawnParts{}, items: drawnParts{}}, err
}

// Channels of the room: root, whose list says when a terminal is over. The terminal itself would bring every byte it
// prints; its ticks tell of the rest.
func (t *terminalRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings when the terminal's holder, title, directory or commands change.
func (t *terminalRoom) Watch(ping func()) (stop func()) {
	changed, cancel := t.p.Host.WatchTerminal(t.uri)
	return pingOn(changed, cancel, ping)
}

// Opened notes what the first page has.
func (t *terminalRoom) Opened(s States) { t.Changed(s, News{}) }

// Whole draws everything.
func (t *terminalRoom) Whole(States) []Patch {
	view, s := t.p.terminalView(t.v.session, t.uri)
	if s == nil {
		return nil
	}
	return []Patch{t.head(view), Replace("commands-"+view.ID, page.TerminalCommands(t.base(), view))}
}

func (t *terminalRoom) base() string { return "/s/" + t.v.short }

func (t *terminalRoom) head(view page.Terminal) Patch {
	return Replace("terminal-"+view.ID, page.TerminalHead(t.base(), view))
}

// Changed sends what looks different: the head, each command by itself, so that a new one costs no more than its own
// line, and which commands the scrollback has lost.
func (t *terminalRoom) Changed(_ States, _ News) []Patch {
	view, s := t.p.terminalView(t.v.session, t.uri)
	if s == nil {
		return nil
	}
	out := t.drawn.changed([]Patch{t.head(view)})
	kept := map[string]bool{}
	for _, c := range view.Commands {
		id := page.CommandID(view.ID, c)
		kept[id] = true
		item := Append("commandlist-"+view.ID, page.TerminalCommandItem(t.base(), view.ID, c))
		if t.items[id] != item.html {
			t.items[id] = item.html
			out = append(out, item)
		}
	}
	for id := range t.items {
		if !kept[id] {
			delete(t.items, id)
			out = append(out, Remove(id))
		}
	}
	return out
}

// pingOn pings for every tick until it is stopped.
func pingOn(changed <-chan struct{}, cancel, ping func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-changed:
				ping()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); cancel(); <-ended }
}
