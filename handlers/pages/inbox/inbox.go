package inbox

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/organize"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

const (
	inboxPage = 100 // sessions on one page
)

// Show serves GET /. Guests of a session are redirected to it.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	if who.Session != "" {
		http.Redirect(w, r, "/s/"+core.ShortID(who.Session), http.StatusSeeOther)
		return nil
	}
	c := p.CallerOf(r.Context())
	m := page.Inbox{Frame: p.Frame(r, "Inbox", "inbox"), Filter: strings.TrimSpace(r.FormValue("q")),
		Saves: who.Has(access.RightAccount)}
	m.Frame.Styles = append(m.Frame.Styles, "css/markdown.css", "css/approval.css", "css/edits.css", "css/inbox.css")
	for _, f := range p.Shelf.Of(who.ID).Filters {
		m.Filters = append(m.Filters, page.SavedFilter(f))
	}
	from, _ := strconv.Atoi(r.FormValue("from")) // absent or not a number: from the start
	if m.Filter != "" || from > 0 {
		m.List = p.inboxList(r.Context(), c, m.Filter, from)
		return site.Send(w, http.StatusOK, page.InboxPage(m))
	}
	rail, err := p.Live.Draw(r.Context(), who, "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	list, err := p.Live.Draw(r.Context(), who, "inbox", func(live.Room, live.States) {
		m.List = p.inboxList(r.Context(), c, "", 0)
	})
	if err != nil {
		return err
	}
	m.Frame.Live, m.Frame.Scripts = live.Query(rail, list), append(m.Frame.Scripts, "js/inbox.js")
	return site.Send(w, http.StatusOK, page.InboxPage(m))
}

// inboxList returns one page of the grouped sessions.
func (p *Pages) inboxList(ctx context.Context, c core.Caller, filter string, from int) page.InboxList {
	l := page.InboxList{Owner: c.Role == access.RoleOwner, Gone: len(p.Host.Trash(c))}
	if l.Owner {
		l.Setup, l.NoAgent = p.Setup, p.HasOnlyShell()
	}
	if why, _ := p.Sandboxes.Warning(); why == "" || !l.Owner { // otherwise the owner's setup notes say this
		l.Unboxed = !p.Sandboxes.IsUsual()
	}
	pins := p.Shelf.Of(c.ID).Pins
	for i, g := range p.groups(c, filter, pins) {
		if i == 0 {
			l.Needs = len(g.Sessions)
		}
		out := page.InboxGroup{Name: g.Name}
		for _, s := range g.Sessions {
			if l.Total >= from && l.Total < from+inboxPage {
				out.Items = append(out.Items, p.inboxItem(ctx, c, s, pins))
			}
			l.Total++
		}
		if len(out.Items) > 0 {
			l.Groups = append(l.Groups, out)
		}
	}
	if filter == "" && from == 0 {
		p.addFileAsks(c, &l)
	}
	if l.Total > from+inboxPage {
		l.More = "/?" + url.Values{"q": {filter}, "from": {strconv.Itoa(from + inboxPage)}}.Encode()
	}
	return l
}

// groups groups the sessions that match a filter. Pinned sessions follow those that need an answer; archived ones
// stay in their group.
func (p *Pages) groups(c core.Caller, filter string, pins []ahp.URI) []site.SessionGroup {
	search := organize.ParseSearch(filter)
	all := p.GroupSessions(c)
	out := []site.SessionGroup{{Name: all[0].Name}, {Name: "Pinned"}}
	for i, g := range all {
		to := 0
		if i > 0 {
			to, out = len(out), append(out, site.SessionGroup{Name: g.Name})
		}
		for _, s := range g.Sessions {
			pinned := slices.Contains(pins, s.Resource)
			switch {
			case filter != "" && !p.isFound(search, s, pinned):
			case pinned && i > 0 && i < len(all)-1:
				out[1].Sessions = append(out[1].Sessions, s)
			default:
				out[to].Sessions = append(out[to].Sessions, s)
			}
		}
	}
	return out
}

func (p *Pages) isFound(search organize.Search, s ahp.SessionSummary, pinned bool) bool {
	texts := append([]string{s.Title, s.Provider, p.AgentName(s.Provider), s.Activity}, s.WorkingDirectories...)
	branch, by := p.Host.SessionContext(s.Resource)
	return search.Match(append(texts, branch, by), p.Shelf.Labels(s.Resource), pinned,
		!s.Status.Has(ahp.SessionStatusIsRead))
}

func (p *Pages) inboxItem(ctx context.Context, c core.Caller, s ahp.SessionSummary, pins []ahp.URI) page.InboxItem {
	it := page.InboxItem{Short: core.ShortID(s.Resource), Title: site.SessionTitle(s.Title),
		Agent: p.AgentName(s.Provider), Activity: s.Activity, Status: p.StatusFor(c.Principal, s),
		Unread: !s.Status.Has(ahp.SessionStatusIsRead), Age: part.Age(s.ModifiedAt, p.Now()), Modified: s.ModifiedAt,
		Keeps: c.Has(access.RightAccount), Pinned: slices.Contains(pins, s.Resource)}
	it.Away = p.MachineAway(s.Provider)
	it.Branch, it.By = p.Host.SessionContext(s.Resource)
	if boxed := p.Sandboxes.IsSandboxed(s.Resource); boxed != p.Sandboxes.IsUsual() {
		it.Sandbox = page.Unlike{Boxed: boxed, Unboxed: !boxed}
	}
	if len(s.WorkingDirectories) > 0 {
		it.Dir = part.FilePath(s.WorkingDirectories[0])
		it.Repository = path.Base(it.Dir)
	}
	if s.Project != nil && s.Project.DisplayName != "" {
		it.Repository = s.Project.DisplayName
	}
	for _, label := range p.Shelf.Labels(s.Resource) {
		it.Labels = append(it.Labels, page.SavedFilter{Name: label, Find: organize.LabelSearch(label)})
	}
	if c := s.Changes; c != nil {
		it.Add, it.Del, it.Files = site.OrZero(c.Additions), site.OrZero(c.Deletions), site.OrZero(c.Files)
	}
	rev := p.Reviews.Review(s.Resource)
	it.Verdicts = site.DrawVerdicts(rev.Standing(), nil)
	if m := rev.MentionsOf(c.ID); len(m) > 0 {
		it.Called = m[len(m)-1].By.Name
	}
	if s.Annotations != nil {
		it.Threads = s.Annotations.AnnotationCount
	}
	if s.Status.Activity() == ahp.SessionStatusInputNeeded {
		it.Asks = p.asks(c.Principal, s.Resource, it)
	}
	return it
}

// asks returns the open requests of a session that this person may answer. A session with open requests is loaded.
func (p *Pages) asks(who access.Principal, session ahp.URI, it page.InboxItem) (out []page.Ask) {
	base := "/s/" + it.Short
	for _, r := range p.SessionState(session).InputNeeded {
		if !p.MayAnswer(who, r) {
			continue
		}
		switch v := r.Value.(type) {
		case *ahp.SessionToolConfirmationRequest:
			if tool, ok := confirmationTool(v.ToolCall); ok {
				turn := part.Turn{ID: v.TurnID, Base: base + "/c/" + part.Tail(v.Chat), Dir: it.Dir}
				out = append(out, page.Ask{Turn: turn, Tool: tool})
			}
		case *ahp.SessionChatInputRequest:
			text := v.Request.Message
			if text == "" {
				text = "The agent is asking something."
			}
			out = append(out, page.Ask{Text: text, Href: base + "/c/" + part.Tail(v.Chat) + "#ask-" + v.Request.ID})
		}
	}
	return out
}

func confirmationTool(s ahp.ToolCallConfirmationState) (part.Tool, bool) {
	state, ok := s.Value.(ahp.ToolCallStateValue)
	if !ok {
		return part.Tool{}, false
	}
	return part.ToolOf(ahp.ToolCallState{Value: state}), true
}

// inboxRoom renders the list of the inbox.
type inboxRoom struct {
	live.Redraw
	p *Pages
}

// NewRoom opens "inbox"; only the unfiltered first page is live.
func (p *Pages) NewRoom(_ context.Context, who access.Principal, _ []string) (live.Room, error) {
	r := &inboxRoom{p: p}
	r.Draw = func(live.States) []live.Patch {
		list := p.inboxList(context.Background(), core.Caller{Principal: who}, "", 0)
		return []live.Patch{live.Replace("inbox", page.InboxListPart(list, ""))}
	}
	return r, nil
}

// Channels implements live.Room. Notifications arrive on root.
func (r *inboxRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Watch pings like the rail, and when a verdict, a mention, a pin, a label or a machine changes.
func (r *inboxRoom) Watch(ping func()) (stop func()) {
	rail, reviews := r.p.WatchRail(ping), r.p.WatchReview("", ping)
	changed, cancel := r.p.Shelf.Watch()
	shelf := live.PingOn(changed, cancel, ping)
	machines := r.p.WatchMachines(ping)
	return func() { rail(); reviews(); shelf(); machines() }
}
