package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

// Provider signs people in by OpenID Connect.
type Provider struct {
	Name       string // on the sign-in button
	OIDC       *people.OIDC
	Identities people.Identities
	Rules      []people.Rule // who may sign in, and as what; evaluated at each visit, so that changes apply at once
}

const (
	providerCookie   = "ahphub-signin"
	providerCallback = "/signin/oidc/callback"
)

// principal returns the current principal of a provider's account; the zero Principal when no rule
// matches any more.
func (p *Provider) principal(ctx context.Context, account string) (access.Principal, error) {
	kept, fresh, err := p.Identities.Get(ctx, account)
	if err != nil || !fresh {
		return access.Principal{}, err
	}
	return p.who(kept), nil
}

func (p *Provider) who(kept people.Identity) access.Principal {
	who, err := ParseGrant(people.Role(p.Rules, kept.Claims))
	if err != nil {
		return access.Principal{}
	}
	who.ID, who.Name = kept.ID, personName(kept.Claims)
	return who
}

// ParseGrant parses what a rule grants: a role, and a driver's switches, as in
// "driver+prompt+type". The returned principal has no id yet.
func ParseGrant(text string) (access.Principal, error) {
	words := strings.Split(text, "+")
	p := access.Principal{Role: access.Role(words[0]), Host: true}
	for _, word := range words[1:] {
		on, ok := map[string]*bool{"prompt": &p.Prompt, "approve": &p.Approve, "type": &p.Type,
			"guests": &p.Guests}[word]
		if !ok {
			return p, fmt.Errorf("%q is not a driver's permission. Use prompt, approve, guests or type", word)
		}
		*on = true
	}
	switch p.Role {
	case access.RoleDriver:
		if len(words) == 1 {
			return p, errors.New("a driver needs at least one permission, as in driver+prompt+approve")
		}
		if p.Guests && !p.Approve {
			return p, errors.New("the permission guests needs approve. Add +approve")
		}
	case access.RoleOwner, access.RoleCommenter, access.RoleViewer, access.RoleMember:
		if len(words) > 1 {
			return p, fmt.Errorf("a %s has no extra permissions. Use the role driver", p.Role)
		}
		p.Host = p.Role != access.RoleMember && p.Role != access.RoleOwner
	default:
		return p, fmt.Errorf("%q is not a role. Use owner, driver+…, commenter, viewer or member", words[0])
	}
	return p, nil
}

// personName returns the name shown to others. Of an e-mail address it shows only the first part.
func personName(c people.Claims) string {
	local, _, _ := strings.Cut(c.Email, "@")
	for _, name := range []string{c.Name, local} {
		if clean, err := access.CleanName(name); err == nil {
			return clean
		}
	}
	return "New member"
}

// beginProvider sends a browser to the provider. It is a form, so that no other site can start it.
// It answers with a page that redirects by script: the policy that limits forms to this server also
// covers redirects of their answers.
func (s *Server) beginProvider(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.PostFormValue("next"))
	address, secret, err := s.cfg.Provider.OIDC.Begin(r.Context(), s.origin(r)+providerCallback, next)
	if err != nil {
		s.cfg.Log.WarnContext(r.Context(), "cannot start a sign-in by OpenID Connect", "err", err)
		s.sendSignIn(w, r, http.StatusServiceUnavailable, next,
			s.cfg.Provider.Name+" isn't responding. Try again in a moment.")
		return
	}
	http.SetCookie(w, s.providerCookie(r, secret, people.BegunLife))
	w.Header().Set("Refresh", "0; url="+address)
	s.send(w, r, http.StatusOK, page.GoOn(page.GoingOn{Frame: s.frame("Sign in"), To: s.cfg.Provider.Name,
		Address: address}))
}

// providerCookie ties a sign-in to the browser that began it. It is Lax because the provider sends
// people back by a link.
func (s *Server) providerCookie(r *http.Request, secret string, life time.Duration) *http.Cookie {
	return &http.Cookie{Name: providerCookie, Value: secret, Path: providerCallback, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode}
}

// finishProvider exchanges the provider's answer for a cookie of the account it vouches for.
func (s *Server) finishProvider(w http.ResponseWriter, r *http.Request) {
	p := s.cfg.Provider
	var secret string
	if c, err := r.Cookie(providerCookie); err == nil {
		secret = c.Value
	}
	http.SetCookie(w, s.providerCookie(r, "", -time.Second))
	claims, next, err := p.OIDC.Finish(r.Context(), secret, r.URL.Query())
	switch {
	case errors.Is(err, people.ErrProviderDown):
		s.cfg.Log.WarnContext(r.Context(), "a sign-in by OpenID Connect failed", "err", err)
		s.sendSignIn(w, r, http.StatusServiceUnavailable, next, p.Name+" isn't responding. Try again in a moment.")
		return
	case err != nil:
		s.cfg.Log.WarnContext(r.Context(), "a sign-in by OpenID Connect was refused", "err", err)
		if s.refuseWrong(w, r) {
			return
		}
		s.noteRefused(r)
		s.sendSignIn(w, r, http.StatusForbidden, localPath(next), refusal(p.Name, err))
		return
	}
	s.welcome(w, r, claims, next)
}

// welcome signs a person in if a rule matches them.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, c people.Claims, next string) {
	p := s.cfg.Provider
	if people.Role(p.Rules, c) == "" {
		s.note(r, audit.Entry{Name: personName(c), What: "sign-in refused", On: "no rule of " + p.Name + " is about " +
			c.Subject})
		s.sendSignIn(w, r, http.StatusForbidden, next, p.Name+" knows you"+as(c)+
			", but you don't have access to this server. Ask its owner.")
		return
	}
	kept, err := p.Identities.Save(r.Context(), c)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	who := p.who(kept)
	if s.letIn(w, r, who, "signed in by "+p.Name) {
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// as names the provider's account, so that a person with several accounts there sees which one was
// used.
func as(c people.Claims) string {
	switch {
	case c.Email != "" && !c.Verified:
		return " as " + c.Email + " (which it has not verified)"
	case c.Email != "":
		return " as " + c.Email
	}
	return ""
}

// refusal returns the text for the person; the log has the full cause.
func refusal(provider string, err error) string {
	if errors.Is(err, people.ErrNotBegun) {
		return "This sign-in has expired, was already used, or was started in another browser. Sign in again."
	}
	var refused *people.Refused
	if errors.As(err, &refused) {
		return sentence(provider + " did not sign you in: " + refused.Reason)
	}
	return sentence(provider + " did not sign you in")
}
