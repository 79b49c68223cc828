package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

// joinPage is where a link leads. Its token is behind the #, so it is not in this request.
func (s *Server) joinPage(w http.ResponseWriter, r *http.Request) {
	s.send(w, r, http.StatusOK, page.JoinPage(page.Join{Frame: s.frame("Join")}))
}

// join takes a link's token and a name for a guest's cookie.
func (s *Server) join(w http.ResponseWriter, r *http.Request) {
	if s.tooMany(w, r) {
		return
	}
	token, name := strings.TrimSpace(r.PostFormValue("token")), r.PostFormValue("name")
	link, err := s.cfg.Links.Peek(token)
	if errors.Is(err, access.ErrWrongToken) {
		s.failed(w, r)
		s.note(r, people.Event{What: "joining refused"})
		s.joinAgain(w, r, http.StatusForbidden, page.Join{Error: "This link is not valid, or not any more. Ask for a new one."})
		return
	}
	if r.PostFormValue("look") != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprint(w, s.leadsTo(link))
		return
	}
	if who, err := s.visitor(nil, r); err == nil && (who.Link == link.ID || who.Role == access.RoleOwner) {
		http.Redirect(w, r, "/s/"+s.cfg.Short(link.Session), http.StatusSeeOther) // nobody becomes less or joins twice
		return
	}
	who, err := s.cfg.Links.Redeem(r.Context(), token, name)
	if err != nil {
		again := page.Join{Token: token, Name: name, To: s.leadsTo(link), Error: sentence(err.Error())}
		s.joinAgain(w, r, http.StatusUnprocessableEntity, again)
		return
	}
	if err := s.cfg.Cookies.SignIn(w, r, people.Account{ID: who.ID, Name: who.Name, Link: who.Link}); err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.note(r, people.Event{Who: who.ID, Name: who.Name, What: "joined", On: link.ID})
	http.Redirect(w, r, "/s/"+s.cfg.Short(link.Session), http.StatusSeeOther)
}

// leadsTo says what somebody who came by a link will see, and as whom.
func (s *Server) leadsTo(l access.Link) string {
	title := "a session"
	if t := s.cfg.Title(l.Session); t != "" {
		title = "the session “" + t + "”"
	}
	return fmt.Sprintf("You come as a %s into %s of %s, and see nothing else of this host: you %s.", l.Role, title, s.cfg.Owner.Name, l.May())
}

func (s *Server) joinAgain(w http.ResponseWriter, r *http.Request, status int, m page.Join) {
	m.Frame = s.frame("Join")
	s.send(w, r, status, page.JoinPage(m))
}
