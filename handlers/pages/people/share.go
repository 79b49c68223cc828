package people

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/texts"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// ShowShare serves the page of a session's links.
func (p *Pages) ShowShare(w http.ResponseWriter, r *http.Request) error {
	v, err := p.shared(r)
	if err != nil {
		return err
	}
	return p.sendShare(w, r, v, http.StatusOK, page.Share{From: r.URL.Query().Get("part")})
}

// shared returns a visit with the session loaded, so that its head can be rendered.
func (p *Pages) shared(r *http.Request) (site.Visit, error) {
	v, err := p.FindVisit(r)
	if err != nil {
		return v, err
	}
	if p.Links == nil {
		return v, site.NotFound("Sharing is turned off on this server.")
	}
	return v, p.Prepare(r.Context(), v.Who, v.Session)
}

func (p *Pages) sendShare(w http.ResponseWriter, r *http.Request, v site.Visit, status int, m page.Share) error {
	f := p.StyledFrame(r, v, "Share", "share")
	f.Styles = append(f.Styles, "css/people.css")
	mark, err := p.Live.Draw(r.Context(), v.Who, "session:"+v.Short, func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	f.Live = live.Query(mark)
	if err := p.ShowPeople(r.Context(), v, &f, ""); err != nil {
		return err
	}
	m.Base, m.Address, m.Now, m.Code = "/s/"+v.Short, p.Address(r), p.Now(), code(m.New)
	m.Local = loopback(m.Address)
	m.Wide = p.Files.IsWide(p.SessionState(v.Session).WorkingDirectories)
	p.offerParts(r.Context(), v, &m)
	for _, l := range p.Links.List(v.Session) {
		link := p.shareLink(l, m.Now)
		link.Revoke = m.Base + "/share/" + l.ID + "/revoke"
		m.Links = append(m.Links, link)
	}
	return site.Send(w, status, page.SharePage(f, &m))
}

const mostParts = 50 // most chats that the form offers

// offerParts adds what a link can share besides the session: its chats and changesets, and the part whose Share
// button the owner pressed. If a session has only one chat, Share on that chat means the session.
func (p *Pages) offerParts(ctx context.Context, v site.Visit, m *page.Share) {
	s := p.SessionState(v.Session)
	for _, c := range s.Chats {
		if c.Interactivity != ahp.ChatInteractivityHidden && len(m.Parts) < mostParts {
			m.Parts = append(m.Parts, page.SharePart{Value: site.ChatPart + part.Tail(c.Resource),
				Label: site.ChatTitle(c), Group: "One chat"})
		}
	}
	if len(m.Parts) == 1 && m.From == m.Parts[0].Value {
		m.From = ""
	}
	sum, _ := p.Host.Summary(v.Session)
	for _, scope := range p.sharedScopes(ctx, v, s, m.From, m.Part) {
		m.Parts = append(m.Parts, page.SharePart{Value: site.ChangesPart + scope, Label: site.ChangesTitle(sum, scope),
			Group: "One set of changes"})
	}
	there := func(value string) bool {
		return slices.ContainsFunc(m.Parts, func(o page.SharePart) bool { return o.Value == value })
	}
	if !there(m.From) {
		m.From = ""
	}
	if m.Part != "" && !there(m.Part) {
		m.Part = page.OtherPart // a deleted part does not become the whole session
	}
}

// sharedScopes returns the changesets that a session offers, and the chosen ones.
func (p *Pages) sharedScopes(ctx context.Context, v site.Visit, s *ahp.SessionState,
	chosen ...string) (scopes []string) {
	scopes = p.Changes.OfferedScopes(s)
	for _, c := range chosen {
		if scope, ok := strings.CutPrefix(c, site.ChangesPart); ok && !slices.Contains(scopes, scope) {
			if _, err := p.part(ctx, v, c); err == nil {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes
}

// part parses the part of a session that a link shares.
func (p *Pages) part(ctx context.Context, v site.Visit, value string) (access.Scope, error) {
	if id, ok := strings.CutPrefix(value, site.ChatPart); ok && id != "" {
		uri, ok := site.ChatByID(p.SessionState(v.Session), id)
		if !ok {
			return access.Scope{}, site.BadRequest("This chat has been deleted. Choose another one.")
		}
		return access.Scope{Kind: ahp.ChannelChat, URI: uri}, nil
	}
	scope, ok := strings.CutPrefix(value, site.ChangesPart)
	if !ok || scope == "" || scope == "turn" {
		return access.Scope{}, site.BadRequest("Choose the link's scope.")
	}
	uri, err := p.Changes.FindChangeset(ctx, v, scope)
	if err != nil {
		return access.Scope{}, err
	}
	return access.Scope{Kind: ahp.ChannelChangeset, URI: uri}, nil
}

func (p *Pages) shareLink(l access.Link, now time.Time) page.ShareLink {
	out := page.ShareLink{ID: l.ID, Role: string(l.Role), Label: l.Label, Created: l.Created, Expires: l.Expires,
		MaxUses: l.MaxUses, SignIn: l.SignIn, Prompt: l.Prompt, Approve: l.Approve, Type: l.Type, Guests: l.Guests,
		AllFiles: l.AllFiles}
	switch {
	case l.Scope.IsChat():
		out.Part = "Chat: " + p.TitleOf(l.Session, l.Scope)
	case l.Scope.IsChangeset():
		out.Part = "Changes: " + strings.ToLower(p.TitleOf(l.Session, l.Scope))
	}
	switch {
	case !l.Revoked.IsZero():
		out.Ended = "Revoked"
	case !l.IsLive(now):
		out.Ended = "Expired"
	}
	for _, u := range l.Uses {
		out.People = append(out.People, page.SharePerson{ID: u.Guest, Name: u.Name, Client: u.Client != "", At: u.At})
	}
	return out
}

// loopback reports whether an address is reachable only from the machine that opens it.
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

// MakeLink creates a link. Its address is shown only in this answer: the host stores no token.
func (p *Pages) MakeLink(w http.ResponseWriter, r *http.Request) error {
	v, err := p.shared(r)
	if err != nil {
		return err
	}
	m := page.Share{From: r.PostFormValue("from"), Part: r.PostFormValue("part")}
	refuse := func(why string) error {
		m.Error = why
		return p.sendShare(w, r, v, http.StatusBadRequest, m)
	}
	want := access.Link{Session: v.Session, Role: access.Role(r.PostFormValue("role")),
		Label: strings.TrimSpace(r.PostFormValue("label")), CreatedBy: v.Who.ID,
		SignIn: r.PostFormValue("signin") == "on"}
	m.AllFiles = r.PostFormValue("allfiles") == "on"
	if m.Part == page.OtherPart { // without an address it is invalid, and refused
		m.Part = cmp.Or(r.PostFormValue("other"), m.Part)
	}
	if m.Part != "" {
		if want.Scope, err = p.part(r.Context(), v, m.Part); err != nil {
			return refuse(site.Classify(err).Text)
		}
	}
	want.AllFiles = m.AllFiles && want.Scope.IsWhole() // a link to a part gives no access to files
	if want.Role == access.RoleDriver {
		on := func(name string) bool { return r.PostFormValue(name) == "on" }
		want.Prompt, want.Approve, want.Type, want.Guests = on("prompt"), on("approve"), on("type"), on("guests")
	}
	want.Label = texts.CutRunes(want.Label, 60)
	switch d := r.PostFormValue("expires"); d {
	case "24h", "168h", "720h":
		age, _ := time.ParseDuration(d) // one of three constants
		want.Expires = p.Now().Add(age).UTC()
	case "never":
	default:
		return refuse("Choose when the link expires.")
	}
	switch n := r.PostFormValue("uses"); n {
	case "", "0":
	case "1", "5", "20":
		want.MaxUses, _ = strconv.Atoi(n)
	default:
		return refuse("Choose how many people can use the link.")
	}
	if err := p.Host.Keep(v.Session); err != nil {
		return err
	}
	token, _, err := p.Links.New(r.Context(), want)
	if err != nil {
		return refuse(site.Sentence(err.Error()))
	}
	audit.Detail(r.Context(), described(string(want.Role), m.Part, want.AllFiles))
	m.New = p.Address(r) + "/j#" + token
	return p.sendShare(w, r, v, http.StatusOK, m)
}

// described describes a link for the audit.
func described(role, of string, allFiles bool) string {
	if of != "" {
		role += ", " + of
	}
	if allFiles {
		role += ", all files"
	}
	return role
}

// RevokeLink revokes a link and the access of its guests.
func (p *Pages) RevokeLink(w http.ResponseWriter, r *http.Request) error {
	v, err := p.shared(r)
	if err != nil {
		return err
	}
	if err := p.revoke(r, p.Links.List(v.Session), chi.URLParam(r, "link")); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/s/"+v.Short+"/share")
}
