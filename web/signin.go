package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5/middleware"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	s.send(w, r, http.StatusOK, page.SignInPage(page.SignIn{Frame: s.frame("Sign in"), Next: localPath(r.URL.Query().Get("next"))}))
}

// signIn takes a one-time token for the owner's cookie.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if s.tooMany(w, r) {
		return
	}
	next := localPath(r.PostFormValue("next"))
	err := s.cfg.SignIn.Use(strings.TrimSpace(r.PostFormValue("token")))
	if errors.Is(err, access.ErrWrongToken) {
		s.failed(w, r)
		s.note(r, people.Event{What: "sign-in refused"})
		m := page.SignIn{Frame: s.frame("Sign in"), Next: next,
			Error: "This token was used already, or is not one of ours. Run ahphub link for a new one."}
		s.send(w, r, http.StatusForbidden, page.SignInPage(m))
		return
	}
	if err == nil {
		err = s.cfg.Cookies.SignIn(w, r, people.Account{ID: s.cfg.Owner.ID})
	}
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.note(r, people.Event{Who: s.cfg.Owner.ID, Name: s.cfg.Owner.Name, What: "signed in"})
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if who, err := s.visitor(nil, r); err == nil && who.Known() {
		s.note(r, people.Event{Who: who.ID, Name: who.Name, What: "signed out"})
	}
	if err := s.cfg.Cookies.SignOut(w, r); err != nil {
		s.unavailable(w, r, err)
		return
	}
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// note writes into the audit. A full disk must not keep anybody from signing in.
func (s *Server) note(r *http.Request, e people.Event) {
	e.From = middleware.GetClientIP(r.Context())
	if err := s.cfg.Audit.Add(context.WithoutCancel(r.Context()), e); err != nil {
		s.cfg.Log.ErrorContext(r.Context(), "the audit was not written", "what", e.What, "err", err)
	}
}

// localPath is a path of this server to go to, "/" for anything else.
func localPath(p string) string {
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.ContainsAny(p, "\\\r\n\t") {
		return "/"
	}
	return p
}
