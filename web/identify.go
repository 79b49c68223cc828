package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/people"
)

// byToken admits a bearer of a token, or a cookie from a page of ours. A request without either is
// 401; a wrong one is 403 (AHP requirement 208: before the upgrade).
func (s *Server) byToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, shown := bearer(r)
		if !shown {
			s.byCookieSameOrigin(w, r, next)
			return
		}
		who, err := s.checkToken(r, token)
		if err != nil {
			s.refuseBearer(w, r, err)
			return
		}
		r.URL.RawQuery = ""    // hides the token from later handlers
		r.Header.Del("Cookie") // with a token only the token counts, so no Origin is needed
		s.serveAs(who, w, r, next)
	})
}

// refuseBearer answers the bearer of a token that is not accepted. Pages of another site get the
// same refusal, however often they try.
func (s *Server) refuseBearer(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errTooMany) && !isForeign(r, s.hosts):
		s.counters.refused.Inc()
		s.tellTooMany(w, r)
	case errors.Is(err, errTooMany), errors.Is(err, access.ErrWrongToken):
		s.refuseToken(w, r, sentence(err.Error()))
	case errors.Is(err, access.ErrSignIn):
		http.Error(w, sentence(err.Error()), http.StatusForbidden)
	default:
		s.unavailable(w, r, err)
	}
}

// bearer returns the token of a client; some clients cannot send headers (AHP requirement 208).
func bearer(r *http.Request) (token string, shown bool) {
	if h := r.Header.Get("Authorization"); h != "" {
		kind, token, _ := strings.Cut(h, " ")
		if strings.EqualFold(kind, "Bearer") {
			return strings.TrimSpace(token), true
		}
		return "", true
	}
	q := r.URL.Query()
	for _, k := range []string{"tkn", "token"} {
		if q.Has(k) {
			return q.Get(k), true
		}
	}
	return "", false
}

// withoutTokens returns the path and query of a page to return to, without a token that was put
// there by mistake.
func withoutTokens(u *url.URL) string {
	q := u.Query()
	if !slices.ContainsFunc(slices.Collect(maps.Keys(q)), access.IsTokenName) {
		return u.RequestURI()
	}
	maps.DeleteFunc(q, func(name string, _ []string) bool { return access.IsTokenName(name) })
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}).RequestURI()
}

// byCookieSameOrigin guards the endpoints for programs: browsers send cookies from pages of any site,
// so a cookie counts there only with an Origin of ours.
func (s *Server) byCookieSameOrigin(w http.ResponseWriter, r *http.Request, next http.Handler) {
	who, err := s.visitor(nil, r)
	switch {
	case errors.Is(err, access.ErrRevoked):
		http.Error(w, sentence(err.Error()), http.StatusForbidden)
	case err != nil:
		s.unavailable(w, r, err)
	case !who.IsKnown():
		w.Header().Set("WWW-Authenticate", `Bearer realm="ahphub"`)
		http.Error(w, "Send a token: Authorization: Bearer …, or tkn=… in the query.", http.StatusUnauthorized)
	case r.Header.Get("Upgrade") != "" && !s.hosts.sameOrigin(r):
		http.Error(w, "A signed-in browser can only open this from a page on this server.", http.StatusForbidden)
	default:
		s.serveAs(who, w, r, next)
	}
}

// byCookie admits signed-in browsers, and redirects requests for pages to the sign-in page.
func (s *Server) byCookie(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := s.visitor(w, r)
		switch {
		case errors.Is(err, access.ErrRevoked):
			s.fail(w, r, http.StatusForbidden, sentence(err.Error())+" Ask for a new one.")
		case err != nil:
			s.unavailable(w, r, err)
		case who.IsKnown() && r.Header.Get("Upgrade") != "" && !s.hosts.sameOrigin(r):
			http.Error(w, "This stream can only be opened from a page on this server.", http.StatusForbidden)
		case who.IsKnown():
			s.serveAs(who, w, r, next)
		case r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
			http.Redirect(w, r, "/signin?"+url.Values{"next": {withoutTokens(r.URL)}}.Encode(), http.StatusSeeOther)
		default:
			s.fail(w, r, http.StatusUnauthorized, "Sign in first. Run ahphub link to get a sign-in link.")
		}
	})
}

// withVisitor adds the visitor to the context if there is one, so that even an error page has their
// navigation.
func (s *Server) withVisitor(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if who, err := s.visitor(nil, r); err == nil && who.IsKnown() {
			r = r.WithContext(access.WithPrincipal(r.Context(), who))
		}
		next(w, r)
	}
}

// visitor returns the principal of a request's cookie: the zero Principal when there is none,
// ErrRevoked when the link they came by was revoked.
func (s *Server) visitor(w http.ResponseWriter, r *http.Request) (access.Principal, error) {
	account, ok, err := s.cfg.Cookies.Account(w, r)
	if err != nil || !ok {
		return access.Principal{}, err
	}
	if account.ID == s.cfg.Owner.ID {
		return s.cfg.Owner, nil
	}
	var who access.Principal
	if access.IsPerson(account.ID) {
		if who, err = s.person(r.Context(), account.ID); err != nil || !who.IsKnown() {
			return access.Principal{}, err // also when they came by a link: removed accounts lose access to those too
		}
	}
	if account.Link != "" {
		return s.cfg.Links.Principal(account.Link, account.ID)
	}
	return who, nil
}

// Person returns the owner or a current account; the zero Principal for a removed one.
func (s *Server) Person(ctx context.Context, id string) (access.Principal, error) {
	if id == s.cfg.Owner.ID {
		return s.cfg.Owner, nil
	}
	return s.person(ctx, id)
}

// person returns a current account; the zero Principal for a removed one.
func (s *Server) person(ctx context.Context, id string) (access.Principal, error) {
	if s.cfg.Members != nil {
		if who, ok := s.cfg.Members.Principal(id); ok {
			return who, nil
		}
	}
	if people.IsIdentity(id) && s.cfg.Provider != nil {
		return s.cfg.Provider.principal(ctx, id)
	}
	return access.Principal{}, nil
}

// serveAs serves the request with the principal in its context, which ends with their link, cookie
// or account.
func (s *Server) serveAs(who access.Principal, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if note, ok := r.Context().Value(seenKey{}).(*seen); ok {
		note.who = who
	}
	ctx, end := s.cfg.Tokens.Bind(access.WithPrincipal(r.Context(), who), who)
	defer upgrade.Defer(r.Context(), end)
	ctx, left := s.cfg.Cookies.Bind(ctx, r)
	defer upgrade.Defer(r.Context(), left)
	if s.cfg.Members != nil {
		var gone context.CancelFunc
		ctx, gone = s.cfg.Members.Bind(ctx, who.ID)
		defer upgrade.Defer(r.Context(), gone)
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// mayVisit checks the table of routes, and keeps guests in their session. It is mounted inside the
// group, so the pattern is known.
func (s *Server) mayVisit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := access.FromContext(r.Context())
		route := r.Method + " " + chi.RouteContext(r.Context()).RoutePattern()
		if who.Session != "" && route == "GET /" {
			http.Redirect(w, r, s.cfg.Home(who.Session, who.Scope), http.StatusSeeOther)
			return
		}
		if !s.mayOpen(who, chi.URLParam(r, "session"), chi.URLParam(r, "chat")) {
			s.fail(w, r, http.StatusNotFound, "Session not found, or you don't have access.")
			return
		}
		if !who.Scope.IsWhole() && route == "GET /s/{session}" {
			http.Redirect(w, r, s.cfg.Home(who.Session, who.Scope), http.StatusSeeOther)
			return
		}
		if err := access.MayVisit(who, route); err != nil {
			s.fail(w, r, http.StatusForbidden, sentence(err.Error()))
			return
		}
		if asksPassword[route] && !s.takePasswordTry(w, r, who.ID) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// asksPassword lists the forms that ask a signed-in person for their password again: a stolen
// browser session allows no faster guessing than the sign-in page.
var asksPassword = map[string]bool{"POST /account/password": true}

// mayOpen reports whether the principal may see a page's session, and its chat if they see only
// one. Addresses without a session are open.
func (s *Server) mayOpen(who access.Principal, session, chat string) bool {
	if session == "" {
		return true
	}
	uri, ok := s.cfg.Sessions.SessionByShort(session)
	if !ok {
		return who.Role == access.RoleOwner // the owner gets a page that reports the missing session
	}
	if !who.SeesSession(uri) {
		return false
	}
	return chat == "" || !who.Scope.IsChat() || s.cfg.Home(uri, who.Scope) == "/s/"+session+"/c/"+chat
}
