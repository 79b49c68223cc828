package pages

import (
	"net/http"
	"path/filepath"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/host/core"
	accounts "github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/hub/resource"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func (p *Pages) fileRoutes(r chi.Router) {
	r.Post("/files/{ask}", p.adapt(p.answerFiles))
	r.Post("/people/files/{grant}/revoke", p.adapt(p.revokeFiles))
}

// answerFiles grants or denies a client's request for files.
func (p *Pages) answerFiles(w http.ResponseWriter, r *http.Request) error {
	do := r.PostFormValue("do")
	if do != "allow" && do != "deny" {
		return errBadRequest("Say what to do: allow or deny.")
	}
	a, err := p.Host.AnswerFileAsk(p.caller(r.Context()), chi.URLParam(r, "ask"), do == "allow")
	if err != nil {
		return err
	}
	accounts.Detail(r.Context(), map[string]string{"allow": "allowed", "deny": "denied"}[do]+" "+a.Name+" to "+verbOf(a.Write)+" "+a.Path)
	return done(w, r, "/")
}

// revokeFiles takes back what was granted.
func (p *Pages) revokeFiles(w http.ResponseWriter, r *http.Request) error {
	g, err := p.Host.RevokeFiles(p.caller(r.Context()), chi.URLParam(r, "grant"))
	if err != nil {
		return err
	}
	accounts.Detail(r.Context(), g.Name+" may not "+verbOf(g.Write)+" "+g.Path+" any more")
	return done(w, r, "/people")
}

func verbOf(write bool) string {
	if write {
		return "write"
	}
	return "read"
}

// fileAsks are the requests that somebody may answer.
func (p *Pages) fileAsks(c core.Caller) (out []page.FileAsk) {
	if !c.Has(access.RightManage) {
		return nil
	}
	for _, a := range p.Host.FileAsks() {
		it := page.FileAsk{ID: a.ID, Name: a.Name, Client: a.Client, Path: a.Path, Dir: a.Dir, Write: a.Write, Repository: a.Repository}
		if as, err := resource.Path(a.URI); err == nil && as != a.Path {
			it.As = as
		}
		out = append(out, it)
	}
	return out
}

// addFileAsks puts them first among what needs somebody.
func (p *Pages) addFileAsks(c core.Caller, l *page.InboxList) {
	asks := p.fileAsks(c)
	if len(asks) == 0 {
		return
	}
	if len(l.Groups) == 0 || l.Groups[0].Name != needsYou {
		l.Groups = append([]page.InboxGroup{{Name: needsYou}}, l.Groups...)
	}
	l.Groups[0].Files, l.Needs = asks, l.Needs+len(asks)
}

// fileRail leads from the column of sessions to what is asked.
func (p *Pages) fileRail(c core.Caller) (out []part.RailItem) {
	for _, a := range p.fileAsks(c) {
		out = append(out, part.RailItem{Href: "/#files-" + a.ID, Title: a.Name + ": " + filepath.Base(a.Path), Group: needsYou, Unread: true,
			Status: part.Status{Icon: "need", Word: "Asks to " + verbOf(a.Write), Class: "need"}})
	}
	return out
}

// watchFiles pings when a client asks, or an answer was given; it is part of a room's Watch.
func (p *Pages) watchFiles(ping func()) (stop func()) {
	changed, cancel := p.Host.WatchFiles()
	return live.PingOn(changed, cancel, ping)
}

// fileGrants lists what was opened.
func (p *Pages) fileGrants() (out []page.FileGrant) {
	for _, g := range p.Host.FileGrants() {
		out = append(out, page.FileGrant{ID: g.ID, Name: g.Name, By: g.By, Path: g.Path, Dir: g.Dir, Write: g.Write, At: g.At})
	}
	return out
}
