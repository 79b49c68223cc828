package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

// invitePage serves the page of an invitation. Its token is in the fragment.
func (s *Server) invitePage(w http.ResponseWriter, r *http.Request) {
	s.inviteAgain(w, r, http.StatusOK, page.Invite{})
}

// acceptInvite exchanges an invitation's token, a name and an optional password for an account and
// its cookie. A member without a password adds a passkey next, on their account page.
func (s *Server) acceptInvite(w http.ResponseWriter, r *http.Request) {
	token, name, password := strings.TrimSpace(r.PostFormValue("token")), r.PostFormValue("name"),
		r.PostFormValue("password")
	invited, err := s.cfg.Members.Peek(token)
	if err != nil {
		if s.refuseWrong(w, r) {
			return
		}
		s.note(r, audit.Entry{What: "invitation refused"})
		const wrong = "This invitation has already been used or has expired. Ask for a new one."
		if r.PostFormValue("look") != "" {
			http.Error(w, wrong, http.StatusForbidden)
			return
		}
		s.inviteAgain(w, r, http.StatusForbidden, page.Invite{Error: wrong})
		return
	}
	if r.PostFormValue("look") != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(s.invitesTo(invited))) // the client may have disconnected
		return
	}
	var who access.Principal
	err = s.audited(r, audit.Entry{Name: name, What: "accepted an invite"}, func(call *audit.Call) (err error) {
		if who, err = s.welcomeMember(r, token, name, password); err != nil {
			return audit.Refusal(err)
		}
		call.IsFor(who)
		return s.cfg.Cookies.SignIn(w, r, people.Account{ID: who.ID, Name: who.Name})
	})
	switch {
	case err != nil && who.IsKnown():
		s.unavailable(w, r, err)
		return
	case err != nil:
		s.inviteAgain(w, r, http.StatusUnprocessableEntity, page.Invite{Token: token, Name: name,
			To: s.invitesTo(invited), Error: sentence(err.Error())})
		return
	}
	if password == "" {
		http.Redirect(w, r, "/account", http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// welcomeMember creates the account. It checks the password first: an invitation can be accepted only
// once.
func (s *Server) welcomeMember(r *http.Request, token, name, password string) (access.Principal, error) {
	if password != "" {
		if s.cfg.Passwords == nil {
			return access.Principal{}, errors.New(
				"this server does not accept passwords. Leave the password empty and add a passkey")
		}
		if err := people.CheckPassword(password); err != nil {
			return access.Principal{}, err
		}
	} else if s.cfg.Passkeys == nil || !people.PasskeysAt(s.origin(r)) {
		return access.Principal{}, errors.New("choose a password. Passkeys can't be added at this address")
	}
	who, err := s.cfg.Members.Accept(r.Context(), token, name)
	if err != nil || password == "" {
		return who, err
	}
	return who, s.cfg.Passwords.Set(r.Context(), who.ID, password)
}

// invitesTo describes the account of an invitation.
func (s *Server) invitesTo(m access.Member) string {
	return s.cfg.Owner.Name + " invited you to ahphub. You can " + m.Describe() + "."
}

func (s *Server) inviteAgain(w http.ResponseWriter, r *http.Request, status int, m page.Invite) {
	m.Frame = s.frame("Invitation")
	m.Passkeys = s.cfg.Passkeys != nil && people.PasskeysAt(s.origin(r))
	s.send(w, r, status, page.InvitePage(m))
}
