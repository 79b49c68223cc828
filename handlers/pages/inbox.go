package pages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

const (
	inboxPage = 100 // sessions of one page
	needsYou  = "Needs you"
)

// inbox is GET /. A guest has one session and is sent there.
func (p *Pages) inbox(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	if who.Session != "" {
		http.Redirect(w, r, "/s/"+core.ShortID(who.Session), http.StatusSeeOther)
		return nil
	}
	c := p.caller(r.Context())
	m := page.Inbox{Frame: p.frame(r, "Inbox", "inbox"), Filter: strings.TrimSpace(r.FormValue("q"))}
	from, _ := strconv.Atoi(r.FormValue("from")) // absent or not a number: from the start
	if m.Filter != "" || from > 0 {
		m.List = p.inboxList(r.Context(), c, m.Filter, from)
		return send(w, http.StatusOK, page.InboxPage(m))
	}
	rail, err := p.Live.Draw(r.Context(), who, "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	list, err := p.Live.Draw(r.Context(), who, "inbox", func(live.Room, live.States) { m.List = p.inboxList(r.Context(), c, "", 0) })
	if err != nil {
		return err
	}
	m.Frame.Live, m.Frame.Scripts = live.Query(rail, list), append(m.Frame.Scripts, "js/inbox.js")
	return send(w, http.StatusOK, page.InboxPage(m))
}

// group is a heading of the inbox and its sessions.
type group struct {
	Name string
	list []ahp.SessionSummary
}

// groups sorts sessions by what they want from a person.
func (p *Pages) groups(c core.Caller, filter string) []group {
	g := []group{{Name: needsYou}, {Name: "Running"}, {Name: "To review"}, {Name: "Idle"}, {Name: "Archived"}}
	for _, s := range p.Host.Listed(c) {
		if filter == "" || matches(s, strings.ToLower(filter)) {
			i := p.groupOf(c.Principal, s)
			g[i].list = append(g[i].list, s)
		}
	}
	return g
}

func (p *Pages) groupOf(who access.Principal, s ahp.SessionSummary) int {
	switch s.Status.Activity() {
	case ahp.SessionStatusInputNeeded:
		if !p.needs(who, s.Resource) {
			return 1
		}
		return 0
	case ahp.SessionStatusInProgress:
		return 1
	}
	switch {
	case s.Status.Has(ahp.SessionStatusIsArchived):
		return 4
	case s.Changes != nil && number(s.Changes.Files) > 0 && !s.Status.Has(ahp.SessionStatusIsRead):
		return 2
	case s.Status.Activity() == ahp.SessionStatusError && !s.Status.Has(ahp.SessionStatusIsRead):
		return 2
	}
	return 3
}

func matches(s ahp.SessionSummary, filter string) bool {
	for _, text := range append([]string{s.Title, s.Provider, s.Activity}, s.WorkingDirectories...) {
		if strings.Contains(strings.ToLower(text), filter) {
			return true
		}
	}
	return false
}

// inboxList draws from the groups, a page at a time.
func (p *Pages) inboxList(ctx context.Context, c core.Caller, filter string, from int) page.InboxList {
	l := page.InboxList{Owner: c.Role == access.RoleOwner, Gone: len(p.Host.Trash(c))}
	for i, g := range p.groups(c, filter) {
		if i == 0 {
			l.Needs = len(g.list)
		}
		out := page.InboxGroup{Name: g.Name}
		for _, s := range g.list {
			if l.Total >= from && l.Total < from+inboxPage {
				out.Items = append(out.Items, p.inboxItem(ctx, c, s))
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

func (p *Pages) inboxItem(ctx context.Context, c core.Caller, s ahp.SessionSummary) page.InboxItem {
	it := page.InboxItem{Short: core.ShortID(s.Resource), Title: titleOf(s.Title), Agent: s.Provider, Activity: s.Activity,
		Status: p.statusFor(c.Principal, s), Unread: !s.Status.Has(ahp.SessionStatusIsRead), Age: part.Age(s.ModifiedAt, p.Now())}
	if len(s.WorkingDirectories) > 0 {
		it.Dir = part.FilePath(s.WorkingDirectories[0])
	}
	if c := s.Changes; c != nil {
		it.Add, it.Del, it.Files = number(c.Additions), number(c.Deletions), number(c.Files)
	}
	desk := p.Host.Desk(s.Resource)
	it.Verdicts = drawVerdicts(desk.Standing(), nil)
	if m := desk.MentionsOf(c.ID); len(m) > 0 {
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

// asks are what a session that is in memory waits for and this person may answer; one that waits is in memory.
func (p *Pages) asks(who access.Principal, session ahp.URI, it page.InboxItem) (out []page.Ask) {
	base := "/s/" + it.Short
	for _, r := range p.sessionState(session).InputNeeded {
		if !p.answers(who, r) {
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
				text = "The agent asks something."
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
