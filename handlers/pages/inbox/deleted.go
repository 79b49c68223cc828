package inbox

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// ShowDeleted serves GET /deleted: the sessions that can be restored.
func (p *Pages) ShowDeleted(w http.ResponseWriter, r *http.Request) error {
	m := page.Deleted{Frame: p.Frame(r, "Deleted sessions", "inbox"), Most: p.Host.TrashLimit()}
	rail, err := p.Live.Draw(r.Context(), access.FromContext(r.Context()), "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	for _, s := range p.Host.Trash(p.CallerOf(r.Context())) {
		it := page.DeletedItem{Short: core.ShortID(s.Resource), Title: site.SessionTitle(s.Title), Agent: s.Provider,
			Ago: part.Age(s.At, p.Now())}
		if len(s.WorkingDirectories) > 0 {
			it.Dir = part.FilePath(s.WorkingDirectories[0])
		}
		m.Items = append(m.Items, it)
	}
	m.Frame.Live = live.Query(rail)
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css")
	return site.Send(w, http.StatusOK, page.DeletedPage(m))
}

// Delete deletes a session, and redirects to a page that can restore it.
func (p *Pages) Delete(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	if r.PostFormValue("delete") != "yes" {
		return site.BadRequest("Use Delete in the session's menu.")
	}
	if err := p.Host.DisposeSession(r.Context(), p.CallerOf(r.Context()),
		ahp.DisposeSessionParams{Channel: v.Session}); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/deleted")
}

// Restore restores a deleted session.
func (p *Pages) Restore(w http.ResponseWriter, r *http.Request) error {
	c, short := p.CallerOf(r.Context()), chi.URLParam(r, "session")
	list := p.Host.Trash(c)
	i := slices.IndexFunc(list, func(s host.Disposed) bool { return core.ShortID(s.Resource) == short })
	if i < 0 {
		return site.NotFound("Deleted session not found. It was already restored, or more recent ones replaced it.")
	}
	if err := p.Host.RestoreSession(r.Context(), c, list[i].Resource); err != nil {
		return err
	}
	audit.Detail(r.Context(), site.SessionTitle(list[i].Title))
	return site.FinishForm(w, r, "/s/"+short)
}
