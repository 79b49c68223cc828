package people

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/texts"
	"github.com/ahphub/ahphub/templ/page"
)

// WithMembers wraps h to answer 404 on a host without invitations.
func (p *Pages) WithMembers(h site.Handler) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.Accounts.Members == nil {
			return site.NotFound("Invites are turned off on this server.")
		}
		return h(w, r)
	}
}

// members returns the members as the owner sees them.
func (p *Pages) members(now time.Time) (out []page.Member) {
	if p.Accounts.Members == nil {
		return nil
	}
	for _, m := range p.Accounts.Members.List() {
		out = append(out, page.Member{ID: m.ID, Name: m.Name, For: m.For, Role: string(m.Role), May: m.Describe(),
			Made: m.Made, Joined: m.Joined, Expires: m.Expires, Expired: m.IsExpired(now), Prompt: m.Prompt,
			Approve: m.Approve, Guests: m.Guests, Type: m.Type})
	}
	return out
}

// memberForm reads a role, and a driver's permissions.
func memberForm(r *http.Request) access.Member {
	m := access.Member{Role: access.Role(r.PostFormValue("role")), For: strings.TrimSpace(r.PostFormValue("for"))}
	if m.Role == access.RoleDriver {
		on := func(name string) bool { return r.PostFormValue(name) == "on" }
		m.Prompt, m.Approve, m.Guests, m.Type = on("prompt"), on("approve"), on("guests"), on("type")
	}
	m.For = texts.CutRunes(m.For, 60)
	return m
}

// Invite creates an invitation. Its address is shown only in this answer: the host stores no token.
func (p *Pages) Invite(w http.ResponseWriter, r *http.Request) error {
	want := memberForm(r)
	token, _, err := p.Accounts.Members.Invite(r.Context(), want)
	if err != nil {
		return p.sendPeople(w, r, http.StatusUnprocessableEntity, page.People{Error: site.Sentence(err.Error())})
	}
	audit.Detail(r.Context(), described(string(want.Role), want.For, false))
	address := p.Address(r)
	return p.sendPeople(w, r, http.StatusOK, page.People{New: address + "/invite#" + token, Local: loopback(address)})
}

// ChangeMember sets a member's role and permissions; their open connections restart with these.
func (p *Pages) ChangeMember(w http.ResponseWriter, r *http.Request) error {
	want := memberForm(r)
	if err := p.Accounts.Members.Change(r.Context(), chi.URLParam(r, "member"), want); err != nil {
		return p.sendPeople(w, r, http.StatusUnprocessableEntity, page.People{Error: site.Sentence(err.Error())})
	}
	audit.Detail(r.Context(), string(want.Role))
	return site.FinishForm(w, r, "/people")
}

// RemoveMember removes an account or an invitation, its ways to sign in, and its tokens, and closes its connections.
func (p *Pages) RemoveMember(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "member")
	err := p.Accounts.Members.Remove(r.Context(), id)
	if errors.Is(err, access.ErrNoPerson) {
		return site.NotFound(site.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	p.Files.RevokeFilesOf(id)
	if p.Accounts.Passwords != nil {
		err = p.Accounts.Passwords.Set(r.Context(), id, "")
	}
	if p.Accounts.Passkeys != nil {
		err = errors.Join(err, p.Accounts.Passkeys.RemoveAll(r.Context(), id))
	}
	if p.Accounts.Tokens != nil {
		err = errors.Join(err, p.Accounts.Tokens.RevokeAll(r.Context(), id))
	}
	if p.Browsers != nil {
		_, out := p.Browsers.SignOutAccount(r.Context(), id)
		err = errors.Join(err, out)
	}
	if p.Notify != nil {
		err = errors.Join(err, p.Notify.SweepDevices(r.Context()))
	}
	if err != nil {
		return err
	}
	return site.FinishForm(w, r, "/people")
}
