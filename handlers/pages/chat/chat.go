package chat

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// ShowSession serves GET /s/{session}: the default chat, or a page of the session while it has none.
func (p *Pages) ShowSession(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if r.FormValue("as") == "md" {
		return p.markdown(w, r)
	}
	return p.showChat(w, r, v, "")
}

// Show serves GET /s/{session}/c/{chat}.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if r.FormValue("as") == "md" {
		return p.markdown(w, r)
	}
	return p.showChat(w, r, v, chi.URLParam(r, "chat"))
}

func (p *Pages) showChat(w http.ResponseWriter, r *http.Request, v site.Visit, id string) error {
	f, head, sess, err := p.SessionFrame(r, v, "chat")
	if err != nil {
		return err
	}
	uri, ok := site.ChatByID(sess, id)
	if !ok {
		return site.NotFound("Chat not found in this session.")
	}
	id = part.Tail(uri)
	m := page.Chat{Base: head.Base() + "/c/" + id, PaneClosed: paneClosed(w, r),
		Attention: part.AttentionOf(sess.InputNeeded, head.Base()), Chats: site.ChatLinks(sess, head.Base(), uri)}
	usage := ""
	mark, err := p.Live.Draw(r.Context(), v.Who, "chat:"+v.Short+":"+id, func(room live.Room, s live.States) {
		c := room.(*chatRoom)
		m.Turns = turnsOf(c.state(s), c.base, c.dir(s))
		m.Composer = c.composerOf(s)
		m.Composer.Editing = editing(c.state(s), r.FormValue("edit"))
		usage = part.UsageWords(turnsOf(c.state(s), "", ""))
	})
	if err != nil {
		return err
	}
	m.Composer.Key = ids.New()
	m.Composer.Me, m.Forks = v.Who.Name, v.Who.Scope.IsWhole() && p.forks(sess.Provider)
	if m.Composer.Draft, err = p.terminals.Quote(r, v, m.Composer.Draft); err != nil {
		return err
	}
	m.Turns, m.Earlier = window(m.Turns, r.FormValue("before"))
	if site.IsFragment(r) && r.FormValue("before") != "" {
		return site.Send(w, http.StatusOK, page.EarlierPart(m))
	}
	if site.IsFragment(r) && r.FormValue("contacts") != "" {
		var i page.Info
		i.Contacts, i.HasContacts = p.contacts(v, sess)
		i.Container = p.container(v, sess)
		return site.Send(w, http.StatusOK, page.SandboxPart(i))
	}
	m.Info = p.info(r, v, sess)
	f.Session.Chat, f.Session.Part, f.Session.Usage = id, site.ChatPart+id, usage
	m.Session = *f.Session
	f.Styles = append(f.Styles, "css/markdown.css", "css/approval.css", "css/edits.css", "css/compose.css",
		"css/chat.css")
	f.Scripts = append(f.Scripts, "js/chat-complete.js", "js/chat.js", "js/chat-send.js", "js/chat-attach.js",
		"js/chat-edits.js")
	f.Live = live.AddToQuery(f.Live, mark)
	if err := p.ShowPeople(r.Context(), v, &f, id); err != nil {
		return err
	}
	m.Frame = f
	if site.IsFragment(r) && r.FormValue("pane") != "" {
		return site.Send(w, http.StatusOK, page.PaneBody(m))
	}
	return site.Send(w, http.StatusOK, page.ChatPage(m))
}

// pageText limits the text of a page's turns; the newest turn is always shown.
const pageText = 2 << 20

// window returns the turns that a page shows: the newest ones, or those before a given turn.
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

// paneClosed reports whether the reader closed the changed files. A cookie keeps the choice, so that the next
// page is rendered accordingly.
func paneClosed(w http.ResponseWriter, r *http.Request) bool {
	want := r.FormValue("pane")
	if want != "" {
		site.SetPreference(w, "pane", want)
	} else if c, err := r.Cookie("pane"); err == nil {
		want = c.Value
	}
	return want == "none"
}

// info returns what a chat's page shows about its session.
func (p *Pages) info(r *http.Request, v site.Visit, s *ahp.SessionState) page.Info {
	i := page.Info{Agent: p.AgentName(s.Provider), Clients: s.ActiveClients}
	machine, online := p.MachineOf(s.Provider)
	i.Machine, i.Away = machine, !online
	for _, d := range s.WorkingDirectories {
		i.Dirs = append(i.Dirs, part.FilePath(d))
	}
	if s.Config != nil {
		for _, key := range slices.Sorted(maps.Keys(s.Config.Schema.Properties)) {
			if raw, ok := s.Config.Values[key]; ok {
				i.Config = append(i.Config, page.ConfigValue{Title: s.Config.Schema.Properties[key].Title,
					Value: part.ValueLabel(s.Config.Schema.Properties[key], raw)})
			}
		}
	}
	i.Notice = p.Sandboxes.Notice(v.Session)
	i.Contacts, i.HasContacts = p.contacts(v, s)
	i.Container = p.container(v, s)
	i.Files, i.Reading = p.fileLines(r, v, s.WorkingDirectories)
	return i
}

// setupStates describe the states of a setup command.
var setupStates = map[sandbox.SetupState]string{sandbox.SetupWaits: "Not started", sandbox.SetupRuns: "Running",
	sandbox.SetupDone: "Done", sandbox.SetupFailed: "Failed"}

// container describes the session's container, for viewers who may prompt; nil when there is none.
func (p *Pages) container(v site.Visit, s *ahp.SessionState) *page.Container {
	if !v.Who.Scope.IsWhole() || !v.Who.Has(access.RightPrompt) {
		return nil
	}
	info, has := p.Sandboxes.Container(v.Session, s)
	if !has {
		return nil
	}
	c := &page.Container{Image: info.Image, File: info.File, Ignored: info.Ignored}
	for _, step := range info.Setup {
		c.Setup = append(c.Setup, page.SetupStep{Command: step.Command, State: setupStates[step.State],
			Failed: step.State == sandbox.SetupFailed, Output: strings.TrimSpace(step.Output)})
	}
	return c
}

// contacts lists the network requests of programs in the session's sandbox, for viewers who may prompt.
func (p *Pages) contacts(v site.Visit, s *ahp.SessionState) ([]page.Contact, bool) {
	if !v.Who.Scope.IsWhole() || !v.Who.Has(access.RightPrompt) {
		return nil, false
	}
	list, has := p.Sandboxes.Contacts(v.Session, s)
	var out []page.Contact
	for _, c := range list {
		line := page.Contact{Host: c.String(), Times: c.Times}
		if c.Reason != "" {
			line.Reason, line.Allow, line.Failed = site.Sentence(c.Reason), c.Allow, c.Failed
		}
		out = append(out, line)
	}
	return out, has
}

// fileLines returns the known files of the session's changeset. Preparing the channel starts the comparison, and the
// pane never waits for git. reading reports that newer files will follow.
func (p *Pages) fileLines(r *http.Request, v site.Visit, dirs []ahp.URI) (out []page.FileLine, reading bool) {
	uri := "ahp-changeset:/" + v.Short + "/session"
	if sum, ok := p.Host.Summary(v.Session); !ok || sum.Changes == nil || p.Prepare(r.Context(), v.Who, uri) != nil {
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
		l := page.FileLine{Href: "/s/" + v.Short + "/changes#f-" + part.DiffKey(f.ID), Path: site.RelativePath(side.URI,
			dirs), Reviewed: f.Reviewed != nil && *f.Reviewed}
		if d := f.Edit.Diff; d != nil {
			l.Add, l.Del = site.OrZero(d.Added), site.OrZero(d.Removed)
		}
		out = append(out, l)
	}
	return out, cs.Status == ahp.ChangesetStatusComputing || cs.Status == ahp.ChangesetStatusRecomputing
}
