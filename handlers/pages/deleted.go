package pages

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	accounts "github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func (p *Pages) deletedRoutes(r chi.Router) {
	r.Get("/deleted", p.adapt(p.deleted))
	r.Post("/deleted/{session}", p.adapt(p.restore))
	r.Post("/s/{session}/delete", p.adapt(p.delete))
}

// deleted is GET /deleted: what can be restored.
func (p *Pages) deleted(w http.ResponseWriter, r *http.Request) error {
	m := page.Deleted{Frame: p.frame(r, "Deleted sessions", "inbox"), Most: p.Host.TrashLimit()}
	rail, err := p.Live.Draw(r.Context(), access.FromContext(r.Context()), "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	for _, s := range p.Host.Trash(p.caller(r.Context())) {
		it := page.DeletedItem{Short: core.ShortID(s.Resource), Title: titleOf(s.Title), Agent: s.Provider, Ago: part.Age(s.At, p.Now())}
		if len(s.WorkingDirectories) > 0 {
			it.Dir = part.FilePath(s.WorkingDirectories[0])
		}
		m.Items = append(m.Items, it)
	}
	m.Frame.Live = live.Query(rail)
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css")
	return send(w, http.StatusOK, page.DeletedPage(m))
}

// delete disposes a session, and shows where it can be had back.
func (p *Pages) delete(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	if r.PostFormValue("delete") != "yes" {
		return errBadRequest("Use Delete in the menu of the session: it says that it is meant.")
	}
	if err := p.Host.DisposeSession(r.Context(), p.caller(r.Context()), ahp.DisposeSessionParams{Channel: v.session}); err != nil {
		return err
	}
	return done(w, r, "/deleted")
}

// restore brings a session back.
func (p *Pages) restore(w http.ResponseWriter, r *http.Request) error {
	c, short := p.caller(r.Context()), chi.URLParam(r, "session")
	list := p.Host.Trash(c)
	i := slices.IndexFunc(list, func(s host.Disposed) bool { return core.ShortID(s.Resource) == short })
	if i < 0 {
		return errNotFound("This session is not among the deleted ones: it was restored already, or newer ones took its place.")
	}
	if err := p.Host.RestoreSession(r.Context(), c, list[i].Resource); err != nil {
		return err
	}
	accounts.Detail(r.Context(), titleOf(list[i].Title))
	return done(w, r, "/s/"+short)
}
