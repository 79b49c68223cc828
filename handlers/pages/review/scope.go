package review

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// look is one view of a session's changes: what is compared and how it is rendered. The address of a review page and
// the name of its room encode it.
type look struct {
	short   string
	session ahp.URI
	// "session", "uncommitted", "branch", "turn.<id>", "compare.<id>..<id>", "chat.<id>.session"…; "turn" is the newest
	scope string
	split bool
	space diff.Space
}

// spaces are the names of whitespace modes in addresses and room names.
var spaces = []struct{ param, flag string }{diff.SpaceAll: {"", ""}, diff.SpaceAmount: {"amount", "b"},
	diff.SpaceNone: {"ignore", "w"}, diff.SpaceBlank: {"blank", "l"}}

func spaceOf(is func(param, flag string) bool) diff.Space {
	for i, s := range spaces {
		if s.param != "" && is(s.param, s.flag) {
			return diff.Space(i)
		}
	}
	return diff.SpaceAll
}

func lookOf(v site.Visit, q url.Values) look {
	l := look{short: v.Short, session: v.Session, scope: q.Get("scope"), split: q.Get("view") == "split"}
	l.space = spaceOf(func(param, _ string) bool { return q.Get("ws") == param })
	if from, to := q.Get("from"), q.Get("to"); l.scope == "" && from != "" && to != "" { // a form compares turns
		l.scope = compared(from, to)
	}
	switch {
	case l.scope != "":
	case v.Who.Scope.IsChangeset():
		l.scope = site.ScopeOf(v.Who.Scope.URI)
	case v.Who.Scope.IsChat():
		l.scope = "turn"
	default:
		l.scope = "session"
	}
	return l
}

// query returns the query that encodes the look.
func (l look) query() string {
	q := "scope=" + url.QueryEscape(l.scope)
	if l.split {
		q += "&view=split"
	}
	if l.space != diff.SpaceAll {
		q += "&ws=" + spaces[l.space].param
	}
	return q
}

func (l look) base() string { return "/s/" + l.short }
func (l look) page() string { return l.base() + "/changes?" + l.query() }

func (l look) room() string {
	flags := "u"
	if l.split {
		flags = "s"
	}
	return "changes:" + l.short + ":" + l.scope + ":" + flags + spaces[l.space].flag
}

// lookNamed parses a room name made by room.
func lookNamed(p *Pages, rest []string) (look, error) {
	if len(rest) != 3 {
		return look{}, live.ErrGone
	}
	uri, ok := p.Host.SessionByShort(rest[0])
	if !ok {
		return look{}, live.ErrGone
	}
	return look{short: rest[0], session: uri, scope: rest[1], split: strings.HasPrefix(rest[2], "s"),
		space: spaceOf(func(_, flag string) bool { return strings.HasSuffix(rest[2], flag) })}, nil
}

// compared returns the scope between the files after two turns; for one turn, its own changes.
func compared(from, to string) string {
	if from == to {
		return "turn." + to
	}
	return "compare." + from + ".." + to
}

// turns returns the turns that a scope compares.
func (l look) turns() (from, to string, ok bool) {
	rest, ok := strings.CutPrefix(l.scope, "compare.")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "..")
}

// changeset returns the changeset's channel.
func (l look) changeset() ahp.URI {
	if from, to, ok := l.turns(); ok {
		return changes.CompareURI(l.session, from, to)
	}
	if turn, ok := strings.CutPrefix(l.scope, "turn."); ok {
		return "ahp-changeset:/" + l.short + "/turn/" + turn
	}
	if chat, kind, ok := l.chat(); ok {
		return "ahp-changeset:/" + l.short + "/chat/" + chat + "/" + kind
	}
	return "ahp-changeset:/" + l.short + "/" + l.scope
}

func (l look) annotations() ahp.URI { return l.session + "/annotations" }

// resolveScope replaces "turn" by the newest turn with changes, and refuses invalid scopes.
func (p *Pages) resolveScope(ctx context.Context, who access.Principal, l look) (look, error) {
	s := p.SessionFor(who, l.session)
	chat, kind, _ := l.chat()
	from, to, comparing := l.turns()
	switch {
	case l.scope == "turn":
		turn := p.lastTurn(s.DefaultChat)
		if turn == "" {
			return l, site.NotFound("No turn has changed anything yet.")
		}
		l.scope = "turn." + turn
	case chat != "":
		if _, ok := reviewedChat(s, chat); !ok || !isKind(kind) {
			return l, site.NotFound("This chat was deleted or shares the session's directories. Choose another scope.")
		}
	case isKind(l.scope), strings.HasPrefix(l.scope, "turn."), comparing && from != "" && to != "":
	default:
		return l, site.BadRequest("Scope not found. Choose session, uncommitted, branch or a turn.")
	}
	return l, ctx.Err()
}

// lastTurn returns the newest finished turn of a chat that changed files.
func (p *Pages) lastTurn(uri ahp.URI) string {
	chat, ok := hub.StateOf[*ahp.ChatState](p.Hub, uri)
	if !ok {
		return ""
	}
	for i := len(chat.Turns) - 1; i >= 0; i-- {
		if site.TurnChanges(chat.Turns[i].Usage) != nil {
			return chat.Turns[i].ID
		}
	}
	if n := len(chat.Turns); n > 0 {
		return chat.Turns[n-1].ID
	}
	return ""
}

// kinds are the changesets of a session, or of a chat with directories of its own.
var kinds = []struct{ key, label, title, base string }{
	{"session", "Session", "Changes since the session began", "since it began"},
	{"uncommitted", "Uncommitted", "Uncommitted changes", "since the last commit"},
	{"branch", "Branch", "Changes on this branch", "since it left its base"},
}

func isKind(key string) bool {
	return slices.ContainsFunc(kinds, func(k struct{ key, label, title, base string }) bool { return k.key == key })
}

// scopes returns the picker: the changesets of the session, or of the chat in the look, in a fixed order, and the
// turn in the look.
func (p *Pages) scopes(who access.Principal, l look, s *ahp.SessionState) []page.Scope {
	var out []page.Scope
	chat, own := p.chatOfLook(l, s)
	turn, title := strings.CutPrefix(l.scope, "turn.")
	if last := p.lastTurn(cmp.Or(chat.Resource, s.DefaultChat)); last != "" && (!title || turn == last) {
		out = append(out, p.scope(who, l, "turn."+last, "turn", "Last turn", "Changes of the last turn"))
	}
	for _, k := range kinds {
		switch scope := k.key; {
		case own:
			if k.key == "session" {
				k.label = "Chat"
			}
			out = append(out, p.scope(who, l, ofChat(chat, k.key), k.key, k.label, k.title+
				", in this chat's directories"))
		case offered(s.Changesets, scope) || scope == l.scope:
			out = append(out, p.scope(who, l, scope, scope, k.label, k.title))
		}
	}
	if title && !current(out) {
		out = append(out, p.scope(who, l, l.scope, "turn", "This turn", "Changes of this turn"))
	}
	if from, to, ok := l.turns(); ok {
		out = append(out, p.scope(who, l, l.scope, "compare", comparison(p.turns(l, s), from, to),
			"Changes between the two turns"))
	}
	return out
}

// changeCounts formats the size of a turn's changes.
func changeCounts(u *ahp.UsageInfo) string {
	c := site.TurnChanges(u)
	if c == nil || site.OrZero(c.Additions)+site.OrZero(c.Deletions) == 0 {
		return ""
	}
	return "+" + part.Count(int(site.OrZero(c.Additions))) + " −" + part.Count(int(site.OrZero(c.Deletions)))
}

// mostChoice is the most characters in the label of a choice.
const mostChoice = 60

func current(list []page.Scope) bool {
	for _, s := range list {
		if s.Current {
			return true
		}
	}
	return false
}

func offered(list []ahp.Changeset, key string) bool {
	for _, c := range list {
		if strings.HasSuffix(c.URITemplate, "/"+key) {
			return true
		}
	}
	return false
}

func (p *Pages) scope(who access.Principal, l look, scope, key, label, title string) page.Scope {
	to := l
	to.scope = scope
	s := page.Scope{Key: key, Label: label, Title: title, URL: to.page(), Current: scope == l.scope}
	for _, k := range kinds {
		if k.key == key {
			s.Base = k.base
		}
	}
	if c, ok := p.StateFor(who, to.changeset()).(*ahp.ChangesetState); ok && c.Status != ahp.ChangesetStatusComputing {
		s.Known, s.Files = true, len(c.Files)
		s.Add, s.Del = sum(c.Files)
	}
	return s
}

func sum(files []ahp.ChangesetFile) (add, del int) {
	for _, f := range files {
		if d := f.Edit.Diff; d != nil {
			add += int(site.OrZero(d.Added))
			del += int(site.OrZero(d.Removed))
		}
	}
	return add, del
}

// prepareLook returns the visit and look of a request, and prepares their channels.
func (p *Pages) prepareLook(r *http.Request) (site.Visit, look, error) {
	v, err := p.FindVisit(r)
	if err != nil {
		return v, look{}, err
	}
	l := lookOf(v, r.URL.Query())
	if q := r.PostFormValue("q"); q != "" {
		if form, err := url.ParseQuery(q); err == nil {
			l = lookOf(v, form)
		}
	}
	if err := p.Prepare(r.Context(), v.Who, v.Session); err != nil {
		return v, l, err
	}
	s := p.SessionFor(v.Who, v.Session)
	chats := []ahp.URI{s.DefaultChat}
	for _, c := range reviewedChats(s) {
		chats = append(chats, c.Resource)
	}
	if err := p.Prepare(r.Context(), v.Who, p.FilterVisible(v.Who, chats...)...); err != nil {
		return v, l, err
	}
	l, err = p.resolveScope(r.Context(), v.Who, l)
	if err != nil {
		return v, l, err
	}
	return v, l, p.Prepare(r.Context(), v.Who, l.changeset())
}
