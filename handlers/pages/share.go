package pages

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/templ/page"
)

// share is the page of a session's links.
func (p *Pages) share(w http.ResponseWriter, r *http.Request) error {
	v, err := p.shared(r)
	if err != nil {
		return err
	}
	return p.sendShare(w, r, v, http.StatusOK, "", "")
}

// shared is a visit with the session awake, so that the head can be drawn.
func (p *Pages) shared(r *http.Request) (visit, error) {
	v, err := p.visit(r)
	if err != nil {
		return v, err
	}
	if p.Links == nil {
		return v, errNotFound("This host shares no sessions.")
	}
	return v, p.prepare(r.Context(), v.who, v.session)
}

func (p *Pages) sendShare(w http.ResponseWriter, r *http.Request, v visit, status int, made, problem string) error {
	f := p.reviewFrame(r, v, "Share", "share")
	f.Styles = append(f.Styles, "css/people.css")
	mark, err := p.open(r.Context(), v.who, "session:"+v.short, func(Room, States) {})
	if err != nil {
		return err
	}
	f.Live = liveQuery(mark)
	if err := p.gather(r.Context(), v, &f, ""); err != nil {
		return err
	}
	address := p.address(r)
	m := &page.Share{Base: "/s/" + v.short, New: made, Error: problem, Address: address, Local: loopback(address), Now: p.Now(), Code: code(made)}
	for _, l := range p.Links.List(v.session) {
		link := shareLink(l, m.Now)
		link.Revoke = m.Base + "/share/" + l.ID + "/revoke"
		m.Links = append(m.Links, link)
	}
	return send(w, status, page.SharePage(f, m))
}

func shareLink(l access.Link, now time.Time) page.ShareLink {
	out := page.ShareLink{ID: l.ID, Role: string(l.Role), Label: l.Label, Created: l.Created, Expires: l.Expires, MaxUses: l.MaxUses,
		Prompt: l.Prompt, Approve: l.Approve, Type: l.Type, Guests: l.Guests}
	switch {
	case !l.Revoked.IsZero():
		out.Ended = "Revoked"
	case !l.Live(now):
		out.Ended = "Expired"
	}
	for _, u := range l.Uses {
		out.People = append(out.People, page.SharePerson{Name: u.Name, At: u.At})
	}
	return out
}

// address is where teammates reach this host: as configured, or as this page was asked for.
func (p *Pages) address(r *http.Request) string {
	if p.Public != "" {
		return strings.TrimSuffix(p.Public, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// loopback tells whether an address leads nowhere but to the machine that opens it.
func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	host := u.Hostname()
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// makeLink is the form of a new link. The address is shown on the answer alone: the host keeps no token.
func (p *Pages) makeLink(w http.ResponseWriter, r *http.Request) error {
	v, err := p.shared(r)
	if err != nil {
		return err
	}
	want := access.Link{Session: v.session, Role: access.Role(r.PostFormValue("role")), Label: strings.TrimSpace(r.PostFormValue("label")), CreatedBy: v.who.ID}
	if want.Role == access.RoleDriver {
		on := func(name string) bool { return r.PostFormValue(name) == "on" }
		want.Prompt, want.Approve, want.Type, want.Guests = on("prompt"), on("approve"), on("type"), on("guests")
	}
	if label := []rune(want.Label); len(label) > 60 {
		want.Label = string(label[:60])
	}
	switch d := r.PostFormValue("expires"); d {
	case "24h", "168h", "720h":
		age, _ := time.ParseDuration(d) // one of three constants
		want.Expires = p.Now().Add(age).UTC()
	case "never":
	default:
		return p.sendShare(w, r, v, http.StatusBadRequest, "", "Choose when the link expires.")
	}
	switch n := r.PostFormValue("uses"); n {
	case "", "0":
	case "1", "5", "20":
		want.MaxUses, _ = strconv.Atoi(n)
	default:
		return p.sendShare(w, r, v, http.StatusBadRequest, "", "Choose how many people the link lets in.")
	}
	token, _, err := p.Links.New(r.Context(), want)
	if err != nil {
		return p.sendShare(w, r, v, http.StatusBadRequest, "", sentence(err.Error()))
	}
	return p.sendShare(w, r, v, http.StatusOK, p.address(r)+"/j#"+token, "")
}

// revokeLink ends a link and everybody who came by it.
func (p *Pages) revokeLink(w http.ResponseWriter, r *http.Request) error {
	v, err := p.shared(r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "link")
	for _, l := range p.Links.List(v.session) {
		if l.ID == id {
			if err := p.Links.Revoke(r.Context(), id); err != nil {
				return err
			}
			return done(w, r, "/s/"+v.short+"/share")
		}
	}
	return errNotFound("There is no such link in this session.")
}
