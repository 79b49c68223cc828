package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	s.sendSignIn(w, r, http.StatusOK, localPath(r.URL.Query().Get("next")), "")
}

// sendSignIn shows the available sign-in methods, and why the last attempt failed.
func (s *Server) sendSignIn(w http.ResponseWriter, r *http.Request, status int, next, problem string) {
	m := page.SignIn{Frame: s.frame("Sign in"), Next: next, Error: problem}
	m.Frame.Scripts = append(m.Frame.Scripts, "js/passkey.js")
	var err error
	m.Names = s.cfg.Members != nil && s.cfg.Members.HasJoined()
	if s.cfg.Passwords != nil {
		if m.Password, err = s.cfg.Passwords.Has(r.Context(), s.cfg.Owner.ID); err != nil {
			s.unavailable(w, r, err)
			return
		}
		m.Password = m.Password || m.Names
	}
	if s.cfg.Passkeys != nil {
		list, err := s.cfg.Passkeys.List(r.Context(), s.cfg.Owner.ID)
		if err != nil {
			s.unavailable(w, r, err)
			return
		}
		m.Passkey = (len(list) > 0 || m.Names) && people.PasskeysAt(s.origin(r))
	}
	if p := s.cfg.Provider; p != nil {
		m.Provider, m.ProviderDown = p.Name, p.OIDC.Down() != nil
	}
	s.send(w, r, status, page.SignInPage(m))
}

func (s *Server) origin(r *http.Request) string {
	if s.cfg.PublicURL == nil {
		return people.Origin(r, "")
	}
	return people.Origin(r, s.cfg.PublicURL.String())
}

// signIn exchanges a one-time token for the owner's cookie.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.PostFormValue("next"))
	err := s.cfg.SignIn.Use(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	if errors.Is(err, access.ErrWrongToken) {
		if s.refuseWrong(w, r) {
			return
		}
		s.noteRefused(r)
		s.sendSignIn(w, r, http.StatusForbidden, next,
			"This sign-in link has already been used or is invalid. Run ahphub link to get a new one.")
		return
	}
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	if !s.letIn(w, r, s.cfg.Owner, "signed in") {
		return
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// findSigner returns the principal who signs in under a name: the owner, under their name or none,
// or a person with an account. Unknown names get a principal without a password.
func (s *Server) findSigner(name string) access.Principal {
	name = strings.TrimSpace(name)
	if name == "" || strings.EqualFold(name, s.cfg.Owner.ID) || strings.EqualFold(name, s.cfg.Owner.Name) {
		return s.cfg.Owner
	}
	if s.cfg.Members != nil {
		if id, ok := s.cfg.Members.ByName(name); ok {
			who, _ := s.cfg.Members.Principal(id) // removed since: the zero Principal
			return who
		}
	}
	return access.Principal{}
}

func (s *Server) wrongPassword() string {
	if s.cfg.Members != nil && s.cfg.Members.HasJoined() {
		return "Incorrect name or password."
	}
	return "Incorrect password."
}

// signInByPassword checks a password of the owner or an account and sets the cookie.
func (s *Server) signInByPassword(w http.ResponseWriter, r *http.Request) {
	next, name := localPath(r.PostFormValue("next")), r.PostFormValue("username")
	who := s.findSigner(name)
	if !s.takePasswordTry(w, r, passwordKey(who, name)) {
		return
	}
	err := s.cfg.Passwords.Check(r.Context(), who.ID, r.PostFormValue("password"))
	if errors.Is(err, people.ErrWrongPassword) {
		s.counters.refused.Inc()
		s.noteRefused(r)
		s.sendSignIn(w, r, http.StatusForbidden, next, s.wrongPassword())
		return
	}
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	if !s.letIn(w, r, who, "signed in by password") {
		return
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// beginPasskey answers a script with the browser's options.
func (s *Server) beginPasskey(w http.ResponseWriter, r *http.Request) {
	options, err := s.cfg.Passkeys.BeginSigningIn(s.origin(r))
	if err != nil {
		http.Error(w, sentence(err.Error()), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(options) // the client may have disconnected
}

// maxAnswer bounds an authenticator's answer, in bytes.
const maxAnswer = 64 << 10

// signInByPasskey checks an authenticator's answer and sets the cookie of the passkey's account.
func (s *Server) signInByPasskey(w http.ResponseWriter, r *http.Request) {
	answer, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err != nil {
		http.Error(w, "The passkey response didn't arrive. Try again.", http.StatusBadRequest)
		return
	}
	account, err := s.cfg.Passkeys.SignIn(r.Context(), answer)
	who := s.cfg.Owner
	if err == nil && account != who.ID {
		who, err = s.person(r.Context(), account)
	}
	if errors.Is(err, people.ErrNoPasskey) || err == nil && !who.IsKnown() {
		if s.refuseWrong(w, r) {
			return
		}
		s.noteRefused(r)
		http.Error(w, sentence(people.ErrNoPasskey.Error()), http.StatusForbidden)
		return
	}
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	if !s.letIn(w, r, who, "signed in by passkey") {
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// letIn sets an account's cookie, with a new id. If that fails it answers and returns false.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request, who access.Principal, how string) bool {
	account := people.Account{ID: who.ID}
	if who.ID != s.cfg.Owner.ID {
		account.Name = who.Name
	}
	err := s.audited(r, audit.Entry{Who: who.ID, Name: who.Name, What: how},
		func(*audit.Call) error { return s.cfg.Cookies.SignIn(w, r, account) })
	if err != nil {
		s.unavailable(w, r, err)
	}
	return err == nil
}

// audited records e before f runs, and the outcome of f.
func (s *Server) audited(r *http.Request, e audit.Entry, f func(*audit.Call) error) error {
	ctx, call, err := s.cfg.Audit.Begin(r.Context(), audit.Inside, e)
	if err != nil {
		return err
	}
	err = f(call)
	call.Done(context.WithoutCancel(ctx), err)
	return err
}

func (s *Server) noteRefused(r *http.Request) { s.note(r, audit.Entry{What: "sign-in refused"}) }

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	end := func(*audit.Call) error { return s.cfg.Cookies.SignOut(w, r) }
	who, err := s.visitor(nil, r)
	if err == nil && who.IsKnown() {
		err = s.audited(r, audit.Entry{Who: who.ID, Name: who.Name, What: "signed out"}, end)
	} else {
		err = end(nil)
	}
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.cfg.AwaitNodes(context.WithoutCancel(r.Context()))
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// note records an entry without an outcome, such as a refusal.
func (s *Server) note(r *http.Request, e audit.Entry) { s.cfg.Audit.Note(r.Context(), e) }

// localPath returns p if it is a path of this server, else "/".
func localPath(p string) string {
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.ContainsAny(p, "\\\r\n\t") {
		return "/"
	}
	return p
}
