package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

// joinPage serves the page of a link. The link's token is in the fragment, so it is not in
// this request; during a required sign-in a cookie keeps it.
func (s *Server) joinPage(w http.ResponseWriter, r *http.Request) {
	m := page.Join{As: s.nameOf(r)}
	if token := heldToken(r); token != "" {
		if link, err := s.cfg.Links.Peek(token); err == nil {
			m.Token, m.To = token, s.leadsTo(link)
		}
	}
	s.joinAgain(w, r, http.StatusOK, m)
}

// join exchanges a link's token and a name for a guest's cookie. Visitors with an account join under
// their own name.
func (s *Server) join(w http.ResponseWriter, r *http.Request) {
	token, name := strings.TrimSpace(r.PostFormValue("token")), r.PostFormValue("name")
	link, err := s.cfg.Links.Peek(token)
	if errors.Is(err, access.ErrWrongToken) {
		if s.refuseWrong(w, r) {
			return
		}
		s.note(r, audit.Entry{What: "join refused"})
		const wrong = "This link is invalid or has expired. Ask for a new one."
		if r.PostFormValue("look") != "" {
			http.Error(w, wrong, http.StatusForbidden)
			return
		}
		s.joinAgain(w, r, http.StatusForbidden, page.Join{As: s.nameOf(r), Error: wrong})
		return
	}
	here, err := s.visitor(nil, r)
	if err != nil {
		here = access.Principal{} // their previous link was revoked: treat them as new
	}
	if r.PostFormValue("look") != "" {
		s.look(w, link, here)
		return
	}
	home := s.cfg.Home(link.Session, link.Scope)
	switch {
	case here.Link == link.ID && here.IsKnown(), here.Role == access.RoleOwner, here.Host:
		http.Redirect(w, r, home, http.StatusSeeOther) // neither lowers rights nor joins twice
		return
	case link.SignIn && !here.HasAccount():
		s.holdToken(w, r, token)
		http.Redirect(w, r, "/signin?next=/j", http.StatusSeeOther)
		return
	}
	s.enter(w, r, link, token, name, here)
}

// enter admits a visitor by a link.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, link access.Link, token, name string,
	here access.Principal) {
	entered := false
	err := s.audited(r, audit.Entry{Who: here.ID, Name: name, What: "joined", On: link.ID},
		func(call *audit.Call) error {
			who, err := s.redeem(r, token, name, here)
			if err != nil {
				return audit.Refusal(err)
			}
			call.IsFor(who)
			entered = true
			return s.cfg.Cookies.SignIn(w, r, people.Account{ID: who.ID, Name: who.Name, Link: who.Link})
		})
	switch {
	case err != nil && entered:
		s.unavailable(w, r, err)
		return
	case err != nil:
		s.joinAgain(w, r, http.StatusUnprocessableEntity, page.Join{Token: token, Name: name, As: s.nameOf(r),
			To: s.leadsTo(link), Error: sentence(err.Error())})
		return
	}
	if heldToken(r) != "" {
		s.holdToken(w, r, "")
	}
	http.Redirect(w, r, s.cfg.Home(link.Session, link.Scope), http.StatusSeeOther)
}

func (s *Server) redeem(r *http.Request, token, name string, here access.Principal) (access.Principal, error) {
	if here.HasAccount() {
		return s.cfg.Links.RedeemAs(r.Context(), token, here)
	}
	return s.cfg.Links.Redeem(r.Context(), token, name)
}

// look describes a link to a script, and whether sign-in comes first.
func (s *Server) look(w http.ResponseWriter, link access.Link, here access.Principal) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if link.SignIn && !here.HasAccount() {
		w.Header().Set("Sign-In", "first")
	}
	fmt.Fprint(w, s.leadsTo(link))
}

// leadsTo describes what guests of a link see, and their role.
func (s *Server) leadsTo(l access.Link) string {
	text := fmt.Sprintf("%s invited you to %s as a %s. You can %s. You won't see anything else on this server.",
		s.cfg.Owner.Name, describeTarget(l.Scope, s.cfg.Title(l.Session, l.Scope)), l.Role, l.Describe())
	if l.SignIn {
		text += " This link requires an account. Sign in to continue."
	}
	return text
}

// describeTarget names what a link shares.
func describeTarget(scope access.Scope, title string) string {
	switch {
	case scope.IsChat() && title == "":
		return "a chat"
	case scope.IsChat():
		return "the chat “" + title + "”"
	case scope.IsChangeset() && title == "":
		return "the changes in a session"
	case scope.IsChangeset():
		return "the changes in “" + title + "”"
	case title == "":
		return "a session"
	}
	return "“" + title + "”"
}

// nameOf returns the name of a signed-in visitor with an account; "" for others.
func (s *Server) nameOf(r *http.Request) string {
	if who, err := s.visitor(nil, r); err == nil && who.HasAccount() {
		return who.Name
	}
	return ""
}

func (s *Server) joinAgain(w http.ResponseWriter, r *http.Request, status int, m page.Join) {
	m.Frame = s.frame("Join")
	s.send(w, r, status, page.JoinPage(m))
}

const (
	waitCookie = "ahphub-join"
	waitLife   = 15 * 60 // seconds to sign in
)

// holdToken keeps a link's token in the browser while its bearer signs in: not in an address, so not in
// logs, history or Referer. "" deletes it.
func (s *Server) holdToken(w http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{Name: waitCookie, Value: token, Path: "/j", MaxAge: waitLife, HttpOnly: true, Secure: s.secure(r),
		SameSite: http.SameSiteLaxMode}
	if token == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

func heldToken(r *http.Request) string {
	c, err := r.Cookie(waitCookie)
	if err != nil {
		return ""
	}
	return c.Value
}
