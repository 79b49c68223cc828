package people

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/core"
	accounts "github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

// Browsers lists and signs out browsers.
type Browsers interface {
	Browsers(r *http.Request) ([]accounts.Browser, error)
	Key(r *http.Request) string
	SignOutBrowser(ctx context.Context, key string) error
	SignOutOthers(r *http.Request) (int, error)
	SignOutAccount(ctx context.Context, account string) (int, error)
}

// Show serves the page about access: members, signed-in browsers, and the links of all sessions.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	return p.sendPeople(w, r, http.StatusOK, page.People{})
}

func (p *Pages) sendPeople(w http.ResponseWriter, r *http.Request, status int, m page.People) error {
	if p.Browsers == nil || p.Links == nil {
		return site.NotFound("This server has no list of people.")
	}
	list, err := p.Browsers.Browsers(r)
	if err != nil {
		return err
	}
	m.Frame, m.Now = p.Frame(r, "People", "people"), p.Now()
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css")
	m.Members, m.Invites = p.members(m.Now), p.Accounts.Members != nil
	for _, b := range list {
		m.Browsers = append(m.Browsers, page.Browser{Key: b.Key, Name: b.Name,
			Owner: b.ID == access.FromContext(r.Context()).ID, Guest: b.Link != "", This: b.This, Agent: b.Agent,
			Since: b.Since, Seen: b.Seen})
	}
	for _, l := range p.Links.List("") {
		link := p.shareLink(l, m.Now)
		link.Revoke = "/people/links/" + l.ID + "/revoke"
		link.In, link.Href = "a deleted session", "/"
		if s, ok := p.Host.Summary(l.Session); ok {
			link.In, link.Href = s.Title, "/s/"+core.ShortID(l.Session)+"/share"
		}
		m.Links = append(m.Links, link)
	}
	m.Files = p.fileGrants()
	w.Header().Set("Cache-Control", "no-store")
	return site.Send(w, status, page.PeoplePage(m))
}

// SignOutOthers signs out the account's other browsers.
func (p *Pages) SignOutOthers(w http.ResponseWriter, r *http.Request) error {
	if p.Browsers == nil {
		return site.NotFound("This server has no list of people.")
	}
	n, err := p.Browsers.SignOutOthers(r)
	if err != nil && !errors.Is(err, accounts.ErrSignedOut) {
		return err
	}
	if n == 0 {
		audit.DidNothing(r.Context())
	}
	return site.FinishForm(w, r, "/people")
}

// SignOutBrowser signs out one browser.
func (p *Pages) SignOutBrowser(w http.ResponseWriter, r *http.Request) error {
	if p.Browsers == nil {
		return site.NotFound("This server has no list of people.")
	}
	err := p.Browsers.SignOutBrowser(r.Context(), chi.URLParam(r, "browser"))
	if errors.Is(err, accounts.ErrNoBrowser) {
		return site.NotFound(site.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	return site.FinishForm(w, r, "/people")
}

// RevokeAnyLink revokes a link of any session, including deleted ones.
func (p *Pages) RevokeAnyLink(w http.ResponseWriter, r *http.Request) error {
	if p.Links == nil {
		return site.NotFound("Sharing is turned off on this server.")
	}
	id := chi.URLParam(r, "link")
	if err := p.revoke(r, p.Links.List(""), id); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/people")
}

// revoke revokes one of the given links. A link that is already revoked is an error.
func (p *Pages) revoke(r *http.Request, among []access.Link, id string) error {
	i := slices.IndexFunc(among, func(l access.Link) bool { return l.ID == id })
	if i < 0 {
		return site.NotFound("Link not found in this session.")
	}
	if !among[i].Revoked.IsZero() {
		return site.NotFound("This link has already been revoked.")
	}
	return p.Links.Revoke(r.Context(), id)
}

// fileGrants lists the granted files and directories.
func (p *Pages) fileGrants() (out []page.FileGrant) {
	for _, g := range p.Files.FileGrants() {
		out = append(out, page.FileGrant{ID: g.ID, Name: g.Name, By: g.By, Path: g.Path, Dir: g.Dir, Write: g.Write,
			At: g.At})
	}
	return out
}

// RevokeFiles revokes a grant of files.
func (p *Pages) RevokeFiles(w http.ResponseWriter, r *http.Request) error {
	g, err := p.Files.RevokeFiles(p.CallerOf(r.Context()), chi.URLParam(r, "grant"))
	if err != nil {
		return err
	}
	audit.Detail(r.Context(), g.Name+" may not "+site.AskVerb(g.Write)+" "+g.Path+" any more")
	return site.FinishForm(w, r, "/people")
}
