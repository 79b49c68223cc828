package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

// Provider signs people in by OpenID Connect.
type Provider struct {
	Name       string // on the button
	OIDC       *people.OIDC
	Identities people.Identities
	Rules      []people.Rule // who comes in, as what: asked at each visit, so a change counts at once
}

const (
	providerCookie   = "ahphub-signin"
	providerCallback = "/signin/oidc/callback"
)

// principal is who somebody the provider vouched for is here: unknown when no rule is about them any more.
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

// ParseGrant reads what a rule makes of somebody: a role, and a driver's switches, as in "driver+prompt+type". What it
// returns is nobody yet: it has no id.
func ParseGrant(text string) (access.Principal, error) {
	words := strings.Split(text, "+")
	p := access.Principal{Role: access.Role(words[0]), Host: true}
	for _, word := range words[1:] {
		on, ok := map[string]*bool{"prompt": &p.Prompt, "approve": &p.Approve, "type": &p.Type, "guests": &p.Guests}[word]
		if !ok {
			return p, fmt.Errorf("%q is nothing a driver may be allowed: use prompt, approve, guests and type", word)
		}
		*on = true
	}
	switch p.Role {
	case access.RoleDriver:
		if len(words) == 1 {
			return p, errors.New("a driver needs something to drive, as in driver+prompt+approve")
		}
		if p.Guests && !p.Approve {
			return p, errors.New("who approves what guests ask for has to be allowed to approve: add +approve")
		}
	case access.RoleOwner, access.RoleCommenter, access.RoleViewer, access.RoleMember:
		if len(words) > 1 {
			return p, fmt.Errorf("a %s has no switches: name the role driver", p.Role)
		}
		p.Host = p.Role != access.RoleMember && p.Role != access.RoleOwner
	default:
		return p, fmt.Errorf("%q is no role: use owner, driver+…, commenter, viewer or member", words[0])
	}
	return p, nil
}

// personName is what others see somebody by. An e-mail address is nobody's business but its first part.
func personName(c people.Claims) string {
	local, _, _ := strings.Cut(c.Email, "@")
	for _, name := range []string{c.Name, local} {
		if clean, err := access.CleanName(name); err == nil {
			return clean
		}
	}
	return "Somebody"
}

// beginProvider sends a browser to the provider. It is a form, so no other site starts it; and it answers with a page that
// goes on by itself, because a policy that lets forms lead to this server alone holds for where they are redirected too.
func (s *Server) beginProvider(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.PostFormValue("next"))
	address, secret, err := s.cfg.Provider.OIDC.Begin(r.Context(), s.origin(r)+providerCallback, next)
	if err != nil {
		s.cfg.Log.WarnContext(r.Context(), "nobody can sign in by the provider", "err", err)
		s.sendSignIn(w, r, http.StatusServiceUnavailable, next, s.cfg.Provider.Name+" does not answer now. Try again in a moment.")
		return
	}
	http.SetCookie(w, s.providerCookie(r, secret, people.BegunLife))
	w.Header().Set("Refresh", "0; url="+address)
	s.send(w, r, http.StatusOK, page.GoOn(page.GoingOn{Frame: s.frame("Sign in"), To: s.cfg.Provider.Name, Address: address}))
}

// providerCookie ties a sign-in to the browser that began it. Lax: the provider sends people back by a link.
func (s *Server) providerCookie(r *http.Request, secret string, life time.Duration) *http.Cookie {
	return &http.Cookie{Name: providerCookie, Value: secret, Path: providerCallback, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode}
}

// finishProvider takes what the provider sent a browser back with for a cookie of whom it vouches for.
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
		s.cfg.Log.WarnContext(r.Context(), "a sign-in by the provider failed", "err", err)
		s.sendSignIn(w, r, http.StatusServiceUnavailable, next, p.Name+" does not answer now. Try again in a moment.")
		return
	case err != nil:
		s.cfg.Log.WarnContext(r.Context(), "a sign-in by the provider was refused", "err", err)
		if s.refuseWrong(w, r) {
			return
		}
		s.noteRefused(r)
		s.sendSignIn(w, r, http.StatusForbidden, localPath(next), refusal(p.Name, err))
		return
	}
	s.welcome(w, r, claims, next)
}

// welcome lets somebody in when a rule is about them.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, c people.Claims, next string) {
	p := s.cfg.Provider
	if people.Role(p.Rules, c) == "" {
		s.note(r, people.Event{Name: personName(c), What: "sign-in refused", On: "no rule of " + p.Name + " is about " + c.Subject})
		s.sendSignIn(w, r, http.StatusForbidden, next, p.Name+" knows you"+as(c)+", but this host lets in others only. Ask its owner.")
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

// as names whom the provider said somebody is, so that who has several accounts there sees which one it was.
func as(c people.Claims) string {
	switch {
	case c.Email != "" && !c.Verified:
		return " as " + c.Email + " (which it has not verified)"
	case c.Email != "":
		return " as " + c.Email
	}
	return ""
}

// refusal is what a person is told; the log has the whole cause.
func refusal(provider string, err error) string {
	if errors.Is(err, people.ErrNotBegun) {
		return "This sign-in was not begun in this browser, took too long, or was used already. Begin again."
	}
	var refused *people.Refused
	if errors.As(err, &refused) {
		return sentence(provider + " did not sign you in: " + refused.Reason)
	}
	return sentence(provider + " did not sign you in")
}
