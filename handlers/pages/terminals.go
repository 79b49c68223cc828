package pages

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func init() { roomKinds["terminals"] = newTerminalRoom }

// sessionTerminals are the terminals of a session in the root's order, with where they are.
func (p *Pages) sessionTerminals(session ahp.URI) (out []ahp.TerminalInfo) {
	state, _, _ := p.Hub.State(ahp.RootURI)
	root, _ := state.(*ahp.RootState)
	if root == nil {
		return nil
	}
	for _, t := range root.Terminals {
		if info, ok := p.Hub.Info(t.Resource); ok && info.Session == session {
			out = append(out, t)
		}
	}
	return out
}

func (p *Pages) terminalLines(v visit) (out []page.TerminalLine) {
	for _, t := range p.sessionTerminals(v.session) {
		l := page.TerminalLine{Href: "/s/" + v.short + "/t/" + part.Tail(t.Resource), Title: t.Title, Holder: p.holder(v.session, t.Claim),
			Running: t.Lifecycle.Status == ahp.TerminalLifecycleStatusRunning, Exit: t.Lifecycle.ExitCode}
		if l.Title == "" {
			l.Title = "Terminal"
		}
		out = append(out, l)
	}
	return out
}

// pageClient is the clientId under which a person's pages hold terminals.
func pageClient(who access.Principal) string { return "page:" + who.ID }

// holder names who has a terminal: a person here by name, another client by its id, the agent.
func (p *Pages) holder(session ahp.URI, c ahp.TerminalClaim) string {
	switch v := c.Value.(type) {
	case *ahp.TerminalClientClaim:
		id, page := strings.CutPrefix(v.ClientID, "page:")
		if !page {
			return v.ClientID
		}
		for _, x := range p.Presence.People(session) {
			if x.ID == id {
				return x.Name
			}
		}
		return "somebody who left"
	case *ahp.TerminalSessionClaim:
		if v.ToolCallID != "" {
			return "the agent"
		}
	}
	return ""
}

// terminalURI finds a terminal of a session by the end of its URI.
func (p *Pages) terminalURI(v visit, id string) (ahp.URI, error) {
	for _, t := range p.sessionTerminals(v.session) {
		if part.Tail(t.Resource) == id {
			return t.Resource, nil
		}
	}
	return "", errNotFound("This terminal is gone, or it is not of this session.")
}

// terminals is GET /s/{session}/t and /s/{session}/t/{terminal}: the list, and one of them.
func (p *Pages) terminals(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	f, head, _, err := p.sessionFrame(r, v, "terminals")
	if err != nil {
		return err
	}
	m := page.Terminals{Session: head, List: p.terminalLines(v)}
	id := chi.URLParam(r, "terminal")
	if id == "" && len(m.List) > 0 {
		id = part.Tail(m.List[len(m.List)-1].Href)
	}
	if id != "" {
		t, err := p.terminal(r.Context(), v, id)
		if err != nil {
			return err
		}
		m.Current = &t
	}
	mark, err := p.open(r.Context(), v.who, "terminals:"+v.short+":"+id, func(Room, States) {})
	if err != nil {
		return err
	}
	f.Live = joinLive(f.Live, mark)
	m.Frame = f
	return send(w, http.StatusOK, page.TerminalsPage(m))
}

func (p *Pages) terminal(ctx context.Context, v visit, id string) (page.Terminal, error) {
	uri, err := p.terminalURI(v, id)
	if err != nil {
		return page.Terminal{}, err
	}
	if err := p.prepare(ctx, v.who, uri); err != nil {
		return page.Terminal{}, err
	}
	state, _, _ := p.Hub.State(uri)
	s, ok := state.(*ahp.TerminalState)
	if !ok {
		return page.Terminal{}, errGone
	}
	t := p.terminalView(v.session, id, s)
	t.Text = p.Host.ScreenText(uri, terminalText(s, 64<<10))
	t.Frame = "/s/" + v.short + "/t/" + id + "/frame"
	return t, nil
}

func (p *Pages) terminalView(session ahp.URI, id string, s *ahp.TerminalState) page.Terminal {
	t := page.Terminal{ID: id, Title: s.Title, Cwd: part.FilePath(s.Cwd), Holder: p.holder(session, s.Claim),
		Running: s.Lifecycle.Status == ahp.TerminalLifecycleStatusRunning}
	t.Status = page.TerminalLine{Running: t.Running, Exit: s.Lifecycle.ExitCode}.Status()
	return t
}

// terminalText is the end of what a terminal printed, at most n bytes.
func terminalText(s *ahp.TerminalState, n int) string {
	var pieces []string
	for i := len(s.Content) - 1; i >= 0 && n > 0; i-- {
		var text string
		switch v := s.Content[i].Value.(type) {
		case *ahp.TerminalUnclassifiedPart:
			text = v.Value.String()
		case *ahp.TerminalCommandPart:
			text = v.Output.String()
		}
		if len(text) > n {
			text = text[len(text)-n:]
		}
		n -= len(text)
		pieces = append(pieces, text)
	}
	var b strings.Builder
	for i := len(pieces) - 1; i >= 0; i-- {
		b.WriteString(pieces[i])
	}
	return b.String()
}

// openTerminal is POST /s/{session}/t: a shell of the session's own.
func (p *Pages) openTerminal(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	if err := p.prepare(r.Context(), v.who, v.session); err != nil {
		return err
	}
	state, _, _ := p.Hub.State(v.session)
	s, _ := state.(*ahp.SessionState)
	chat, ok := chatByID(s, "")
	if !ok {
		return errNotFound("This session has no chat that could own a terminal.")
	}
	uri := "ahp-terminal:/" + newID()
	claim := ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: v.session, Chat: chat}}
	if err := p.Host.CreateTerminal(r.Context(), p.caller(r.Context()), ahp.CreateTerminalParams{Channel: uri, Claim: claim}); err != nil {
		return err
	}
	return done(w, r, "/s/"+v.short+"/t/"+part.Tail(uri))
}

// closeTerminal is POST …/close.
func (p *Pages) closeTerminal(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	uri, err := p.terminalURI(v, chi.URLParam(r, "terminal"))
	if err != nil {
		return err
	}
	if err := p.Host.DisposeTerminal(r.Context(), p.caller(r.Context()), ahp.DisposeTerminalParams{Channel: uri}); err != nil {
		return err
	}
	return done(w, r, "/s/"+v.short+"/t")
}

// claimTerminal is POST …/claim: take it, or give it back to the session.
func (p *Pages) claimTerminal(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "terminal")
	uri, err := p.terminalURI(v, id)
	if err != nil {
		return err
	}
	claim := ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: pageClient(v.who)}}
	if r.PostFormValue("to") == "session" {
		state, _, _ := p.Hub.State(v.session)
		s, _ := state.(*ahp.SessionState)
		chat, _ := chatByID(s, "")
		claim.Value = &ahp.TerminalSessionClaim{Session: v.session, Chat: chat}
	}
	if err := p.act(r.Context(), uri, &ahp.TerminalClaimedAction{Claim: claim}); err != nil {
		return err
	}
	return done(w, r, "/s/"+v.short+"/t/"+id)
}

// typeLine is POST …/input, the way to type without JavaScript: one line and Enter.
func (p *Pages) typeLine(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "terminal")
	uri, err := p.terminalURI(v, id)
	if err != nil {
		return err
	}
	conn, caller, err := p.typist(v.who)
	if err != nil {
		return err
	}
	defer conn.Close(errGone)
	o, err := p.Host.Dispatch(r.Context(), caller, uri, 1, &ahp.TerminalInputAction{Data: r.PostFormValue("line") + "\r"})
	if err == nil && o.Rejected != "" {
		err = refused(o.Rejected)
	}
	if err != nil {
		return err
	}
	return done(w, r, "/s/"+v.short+"/t/"+id)
}

// typist is a connection for keys: they are echoed to their sender alone, so they need one.
func (p *Pages) typist(who access.Principal) (*hub.Conn, host.Caller, error) {
	client := pageClient(who) + ":" + newID()
	conn, err := p.Hub.Connect(hub.ConnConfig{Principal: who.ID, ClientID: client, Audience: who.Audience()})
	return conn, host.Caller{Principal: who, ClientID: client, Conn: conn}, err
}

// terminalRoom keeps the list and the head of the terminals page.
type terminalRoom struct {
	p     *Pages
	v     visit
	id    string
	uri   ahp.URI // "" when the session has none
	drawn map[string]string
}

// newTerminalRoom opens "terminals:<short>:<id>".
func newTerminalRoom(p *Pages, ctx context.Context, who access.Principal, rest []string) (Room, error) {
	if len(rest) != 2 {
		return nil, errGone
	}
	uri, ok := p.Host.SessionByShort(rest[0])
	if !ok || !sees(who, uri, uri, ahp.ChannelSession) {
		return nil, errGone
	}
	t := &terminalRoom{p: p, v: visit{who: who, session: uri, short: rest[0]}, id: rest[1]}
	if t.id == "" {
		return t, nil
	}
	var err error
	t.uri, err = p.terminalURI(t.v, t.id)
	return t, err
}

// Channels of the room: root has the list. The terminal itself would bring every byte it prints, so its head is
// drawn from what root says of it and from its state at that moment.
func (t *terminalRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI} }

// Opened notes what the first page has.
func (t *terminalRoom) Opened(s States) {
	t.drawn = map[string]string{}
	for _, p := range t.Whole(s) {
		t.drawn[p.id] = p.html
	}
}

// Whole draws list and head.
func (t *terminalRoom) Whole(States) []Patch {
	m := page.Terminals{Session: part.SessionHead{Short: t.v.short}, List: t.p.terminalLines(t.v)}
	if t.id == "" {
		return []Patch{Replace("terminals", page.TerminalTabs(m))}
	}
	m.Current = &page.Terminal{ID: t.id}
	out := []Patch{Replace("terminals", page.TerminalTabs(m))}
	state, _, _ := t.p.Hub.State(t.uri)
	if s, ok := state.(*ahp.TerminalState); ok {
		out = append(out, Replace("terminal-head", page.TerminalHead("/s/"+t.v.short, t.p.terminalView(t.v.session, t.id, s))))
	}
	return out
}

// Changed sends what looks different.
func (t *terminalRoom) Changed(s States, _ News) (out []Patch) {
	for _, p := range t.Whole(s) {
		if t.drawn[p.id] != p.html {
			t.drawn[p.id] = p.html
			out = append(out, p)
		}
	}
	return out
}
