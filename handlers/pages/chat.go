package pages

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// session is GET /s/{session}: the default chat, or the session's only page while it has none.
func (p *Pages) session(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	if r.FormValue("as") == "md" {
		return p.markdown(w, r)
	}
	return p.showChat(w, r, v, "")
}

// chat is GET /s/{session}/c/{chat}.
func (p *Pages) chat(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	if r.FormValue("as") == "md" {
		return p.markdown(w, r)
	}
	return p.showChat(w, r, v, chi.URLParam(r, "chat"))
}

func (p *Pages) showChat(w http.ResponseWriter, r *http.Request, v visit, id string) error {
	f, head, sess, err := p.sessionFrame(r, v, "chat")
	if err != nil {
		return err
	}
	uri, ok := chatByID(sess, id)
	if !ok {
		return errNotFound("There is no such chat in this session.")
	}
	id = part.Tail(uri)
	m := page.Chat{Base: head.Base() + "/c/" + id, Pane: pane(w, r), Attention: part.AttentionOf(sess.InputNeeded, head.Base()), Chats: chatLinks(sess, head.Base(), uri)}
	mark, err := p.Live.Draw(r.Context(), v.who, "chat:"+v.short+":"+id, func(room live.Room, s live.States) {
		c := room.(*chatRoom)
		m.Turns = turnsOf(c.state(s), c.base, c.dir(s))
		m.Composer = c.composerOf(s)
		m.Composer.Editing = editing(c.state(s), r.FormValue("edit"))
	})
	if err != nil {
		return err
	}
	m.Composer.Me, m.Forks = v.who.Name, v.who.Scope.IsWhole() && p.forks(sess.Provider)
	if m.Composer.Draft, err = p.quoteIn(r, v, m.Composer.Draft); err != nil {
		return err
	}
	m.Turns, m.Earlier = window(m.Turns, r.FormValue("before"))
	if fragment(r) && r.FormValue("before") != "" {
		return send(w, http.StatusOK, page.EarlierPart(m))
	}
	if m.Pane == "changes" && !v.who.Scope.IsWhole() {
		m.Pane = ""
	}
	m.Info = p.info(r, v, sess)
	f.Session.Chat, f.Session.Part = id, chatPart+id
	m.Session = *f.Session
	f.Scripts = append(f.Scripts, "js/chat-complete.js", "js/chat.js", "js/chat-send.js", "js/chat-attach.js", "js/chat-edits.js")
	f.Live = live.AddToQuery(f.Live, mark)
	if err := p.gather(r.Context(), v, &f, id); err != nil {
		return err
	}
	m.Frame = f
	if fragment(r) && r.FormValue("pane") != "" {
		return send(w, http.StatusOK, page.PaneBody(m))
	}
	return send(w, http.StatusOK, page.ChatPage(m))
}

// pageText is how much text a page shows of its turns together; the newest is there in any case.
const pageText = 2 << 20

// window is what a page shows of the turns: the newest, or those that end before one.
func window(turns []part.Turn, before string) (shown []part.Turn, earlier string) {
	end := len(turns)
	for i, t := range turns {
		if t.ID == before {
			end = i
		}
	}
	from, size := end, 0
	for from > 0 && end-from < turnsShown {
		t := &turns[from-1]
		t.Measure()
		if size += t.Size(); size > pageText && from < end {
			break
		}
		from--
	}
	if from > 0 {
		earlier = turns[from].ID
	}
	return turns[from:end], earlier
}

// pane is which tab of the right side is open; a choice is kept in a cookie, so that the next page is right at once.
func pane(w http.ResponseWriter, r *http.Request) string {
	want := r.FormValue("pane")
	if want == "" {
		if c, err := r.Cookie("pane"); err == nil {
			want = c.Value
		}
	} else {
		setPreference(w, "pane", want)
	}
	switch want {
	case "none":
		return ""
	case "threads", "terminals", "info":
		return want
	}
	return "changes"
}

func setPreference(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// sessionFrame is the frame of any page of a session: its head, and the marks of its rooms in Frame.Live.
func (p *Pages) sessionFrame(r *http.Request, v visit, tab string) (part.Frame, part.SessionHead, *ahp.SessionState, error) {
	var sess *ahp.SessionState
	var head part.SessionHead
	mark, err := p.Live.Draw(r.Context(), v.who, "session:"+v.short, func(_ live.Room, s live.States) {
		if sess, _ = s[v.session].(*ahp.SessionState); sess != nil {
			head = p.head(v.who, v.short, v.session, sess)
		}
	})
	if err != nil {
		return part.Frame{}, head, nil, err
	}
	if sess == nil {
		return part.Frame{}, head, nil, live.ErrGone
	}
	f := p.frame(r, head.Title, tab)
	marks := []string{mark}
	if f.Rail != nil {
		rail, err := p.Live.Draw(r.Context(), v.who, "rail", func(live.Room, live.States) {})
		if err != nil {
			return f, head, nil, err
		}
		marks = append(marks, rail)
	}
	f.Live, f.Session = live.Query(marks...), &head
	head.Muted, head.Path = p.muted(r.Context(), v), f.Path
	p.greet(&f, v)
	return f, head, sess, nil
}

// info is what the pane tells.
func (p *Pages) info(r *http.Request, v visit, s *ahp.SessionState) page.Info {
	i := page.Info{Agent: p.agentName(s.Provider), Clients: s.ActiveClients}
	for _, d := range s.WorkingDirectories {
		i.Dirs = append(i.Dirs, part.FilePath(d))
	}
	if s.Config != nil {
		for _, key := range slices.Sorted(maps.Keys(s.Config.Schema.Properties)) {
			if raw, ok := s.Config.Values[key]; ok {
				i.Config = append(i.Config, page.ConfigValue{Title: s.Config.Schema.Properties[key].Title, Value: scalar(raw)})
			}
		}
	}
	i.Files, i.Reading = p.fileLines(r, v, s.WorkingDirectories)
	i.Terminals, i.Threads = p.terminalLines(v), p.threadLines(r, v, s)
	return i
}

func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// agentName is what people call an agent; "" is the default one.
func (p *Pages) agentName(provider string) string {
	for i, a := range p.agents() {
		if a.Provider == provider || provider == "" && i == 0 {
			return cmp.Or(a.DisplayName, a.Provider)
		}
	}
	return provider
}

func (p *Pages) agents() []ahp.AgentInfo {
	if root, ok := hub.StateOf[*ahp.RootState](p.Hub, ahp.RootURI); ok {
		return root.Agents
	}
	return nil
}

// fileLines are the files of the session's changeset as far as it is known already: asking for it has it computed, and
// the pane never waits for git. reading says that there will be newer ones.
func (p *Pages) fileLines(r *http.Request, v visit, dirs []ahp.URI) (out []page.FileLine, reading bool) {
	uri := "ahp-changeset:/" + v.short + "/session"
	if sum, ok := p.Host.Summary(v.session); !ok || sum.Changes == nil || p.prepare(r.Context(), v.who, uri) != nil {
		return nil, false
	}
	cs, ok := hub.StateOf[*ahp.ChangesetState](p.Hub, uri)
	if !ok {
		return nil, false
	}
	for _, f := range cs.Files {
		side := f.Edit.After
		if side == nil {
			side = f.Edit.Before
		}
		if side == nil {
			continue
		}
		l := page.FileLine{Href: "/s/" + v.short + "/changes#f-" + part.DiffKey(f.ID), Path: relative(side.URI, dirs), Reviewed: f.Reviewed != nil && *f.Reviewed}
		if d := f.Edit.Diff; d != nil {
			l.Add, l.Del = number(d.Added), number(d.Removed)
		}
		out = append(out, l)
	}
	return out, cs.Status == ahp.ChangesetStatusComputing || cs.Status == ahp.ChangesetStatusRecomputing
}
