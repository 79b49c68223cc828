package customs

import (
	"context"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/customs"
	"github.com/ahphub/ahphub/templ/page"
)

// Show serves GET /s/{session}/customizations.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	f, _, _, err := p.SessionFrame(r, v, "customizations")
	if err != nil {
		return err
	}
	p.Customs.RefreshNow(r.Context(), v.Session)
	var m *page.Customizations
	mark, err := p.Live.Draw(r.Context(), v.Who, "customizations:"+v.Short, func(_ live.Room, s live.States) {
		if state, ok := s[v.Session].(*ahp.SessionState); ok {
			m = p.customView(v, state)
		}
	})
	if err != nil {
		return err
	}
	if m == nil {
		return live.ErrGone
	}
	f.Title, f.Live = "Customizations · "+f.Title, live.AddToQuery(f.Live, mark)
	f.Styles = append(f.Styles, "css/customs.css")
	if err := p.ShowPeople(r.Context(), v, &f, ""); err != nil {
		return err
	}
	return site.Send(w, http.StatusOK, page.CustomizationsPage(f, m))
}

// customsRoom updates the sections.
type customsRoom struct {
	live.Redraw
	p *Pages
	v site.Visit
}

// NewRoom opens "customizations:<short>" for viewers who may manage the session.
func (p *Pages) NewRoom(ctx context.Context, who access.Principal, rest []string) (live.Room, error) {
	if len(rest) != 1 || !who.Has(access.RightManage) {
		return nil, live.ErrGone
	}
	v, err := p.VisitByShort(who, rest[0])
	if err != nil {
		return nil, err
	}
	r := &customsRoom{p: p, v: v}
	r.Draw = r.draw
	return r, p.Prepare(ctx, who, v.Session)
}

// Channels implements live.Room.
func (c *customsRoom) Channels() []ahp.URI { return []ahp.URI{c.v.Session} }

// draw renders every section.
func (c *customsRoom) draw(s live.States) (out []live.Patch) {
	state, _ := s[c.v.Session].(*ahp.SessionState)
	if state == nil {
		return nil
	}
	for _, sec := range c.p.customView(c.v, state).Sections {
		out = append(out, live.Replace(sec.ID, page.CustomSectionPart(sec)))
	}
	return out
}

// Switch turns an entry on or off. A decision for a wider scope replaces those for narrower scopes: turning an entry
// off everywhere also turns it off here.
func (p *Pages) Switch(w http.ResponseWriter, r *http.Request) error {
	v, s, err := p.customForm(w, r)
	if err != nil {
		return err
	}
	id := r.PostForm.Get("id")
	list, err := decision(p.Customs.ListDecisions(v.Session, s)[id], s, r.PostForm.Get("to"))
	if err != nil {
		return err
	}
	if err := p.Act(r.Context(), v.Session, &ahp.SessionCustomizationToggledAction{ID: id,
		Enablement: list}); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/s/"+v.Short+"/customizations")
}

// decision returns the new list of decisions. to is "forget", or a decision such as "off:workspace".
func decision(was customs.Decisions, s *ahp.SessionState, to string) (list []ahp.CustomizationEnablement, err error) {
	if to == "forget" {
		return []ahp.CustomizationEnablement{}, nil
	}
	word, scope, _ := strings.Cut(to, ":")
	on := word == "on"
	if !on && word != "off" {
		return nil, site.BadRequest("Choose an action: on, off or forget.")
	}
	switch scope {
	case "session":
		was.Session = &on
	case "workspace":
		if len(s.WorkingDirectories) == 0 {
			return nil, site.BadRequest("This session has no directory. Choose this session or everywhere.")
		}
		was.Session, was.Workspace = nil, &on
	case "all":
		was.Session, was.Workspace, was.All = nil, nil, &on
	default:
		return nil, site.BadRequest("Choose a scope: session, workspace or all.")
	}
	if was.Session != nil {
		list = append(list, ahp.CustomizationEnablement{Value: &ahp.CustomizationSessionEnablement{Enabled: *was.Session}})
	}
	if was.Workspace != nil && len(s.WorkingDirectories) > 0 {
		list = append(list, ahp.CustomizationEnablement{Value: &ahp.CustomizationWorkspaceEnablement{URI: s.WorkingDirectories[0], Enabled: *was.Workspace}})
	}
	if was.All != nil {
		list = append(list, ahp.CustomizationEnablement{Value: &ahp.CustomizationGlobalEnablement{Enabled: *was.All}})
	}
	return list, nil
}

// customForm reads a form of the page.
func (p *Pages) customForm(w http.ResponseWriter, r *http.Request) (site.Visit, *ahp.SessionState, error) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	v, err := p.FindVisit(r)
	if err != nil {
		return v, nil, err
	}
	if err := site.ParseForm(r); err != nil {
		return v, nil, &site.Fault{Status: http.StatusRequestEntityTooLarge, Text: "The form is too large.", Cause: err}
	}
	if err := p.Prepare(r.Context(), v.Who, v.Session); err != nil {
		return v, nil, err
	}
	s := p.SessionState(v.Session)
	if s == nil {
		return v, nil, live.ErrGone
	}
	return v, s, nil
}

// SwitchServer starts, stops, trusts or distrusts a server.
func (p *Pages) SwitchServer(w http.ResponseWriter, r *http.Request) error {
	v, s, err := p.customForm(w, r)
	if err != nil {
		return err
	}
	audit.Detail(r.Context(), r.PostForm.Get("do")+" "+customs.ServerName(s, r.PostForm.Get("id")))
	ctx, c, id := r.Context(), p.CallerOf(r.Context()), r.PostForm.Get("id")
	start := &ahp.SessionMcpServerStartRequestedAction{ID: id}
	switch r.PostForm.Get("do") {
	case "start":
		err = p.Act(ctx, v.Session, start)
	case "stop":
		err = p.Act(ctx, v.Session, &ahp.SessionMcpServerStopRequestedAction{ID: id})
	case "trust", "trust-start":
		err = p.Customs.TrustServer(ctx, c, v.Session, id, r.PostForm.Get("digest"))
		if err == nil && r.PostForm.Get("do") == "trust-start" {
			err = p.Act(ctx, v.Session, start)
		}
	case "distrust":
		err = p.Customs.DistrustServer(ctx, c, v.Session, id)
	default:
		return site.BadRequest("Choose an action: start, stop, trust, trust-start or distrust.")
	}
	if err != nil {
		return err
	}
	return site.FinishForm(w, r, "/s/"+v.Short+"/customizations")
}

// ShowFile shows the text of a rule, a skill, an agent or a prompt.
func (p *Pages) ShowFile(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	f, _, _, err := p.SessionFrame(r, v, "customizations")
	if err != nil {
		return err
	}
	t, err := p.Customs.ReadText(r.Context(), p.CallerOf(r.Context()), v.Session, r.URL.Query().Get("id"))
	if err != nil {
		return err
	}
	f.Title = t.Name + " · " + f.Title
	f.Styles = append(f.Styles, "css/customs.css")
	if err := p.ShowPeople(r.Context(), v, &f, ""); err != nil {
		return err
	}
	return site.Send(w, http.StatusOK, page.CustomizationFile(f, &page.FileText{Base: "/s/" + v.Short, Name: t.Name,
		Path: t.Path, Text: t.Text, Cut: t.Cut}))
}
