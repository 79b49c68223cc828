package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"github.com/ahphub/ahphub/hub/access"
)

// guesses limits how fast secrets can be guessed. Generated secrets have at least 128 random bits,
// so the right one is compared first and always passes; counting wrong ones only limits noise. A
// secret that a person chose may be weak, so attempts are limited by address and account before it
// is compared.
type guesses struct {
	each      *httprate.RateLimiter // by address and kind of secret
	passwords *httprate.RateLimiter // by address alone: each attempt costs a hash, whichever account it names
}

// accountsGuessed is the number of accounts an address can try at the full rate.
const accountsGuessed = 10

func newGuesses(limit int) guesses {
	return guesses{httprate.NewRateLimiter(limit, time.Minute),
		httprate.NewRateLimiter(accountsGuessed*limit, time.Minute)}
}

// refuseWrong counts a wrong secret of the kind that the server generates, and answers 429 when its
// address sent too many of them. It reports whether it answered.
func (s *Server) refuseWrong(w http.ResponseWriter, r *http.Request) bool {
	s.counters.refused.Inc()
	if !s.guesses.each.OnLimit(discardHeaders{w}, r, "wrong "+address(r)) {
		return false
	}
	s.tellTooMany(w, r)
	return true
}

// refuseToken answers a wrong bearer token. One from a page of another site is not counted: the
// address is that of the visitor whose browser sent it.
func (s *Server) refuseToken(w http.ResponseWriter, r *http.Request, why string) {
	if isForeign(r, s.hosts) {
		s.counters.refused.Inc()
	} else if s.refuseWrong(w, r) {
		return
	}
	http.Error(w, why, http.StatusForbidden)
}

// checkToken returns the bearer of a token. It returns ErrWrongToken for an unknown token, and
// errTooMany when the owner chose their token and there were too many attempts.
func (s *Server) checkToken(r *http.Request, token string) (access.Principal, error) {
	who, err := s.cfg.Tokens.CheckGenerated(r.Context(), token)
	if !errors.Is(err, access.ErrWrongToken) || !s.cfg.Tokens.IsChosen() {
		return who, err
	}
	key := "token " + address(r)
	if maybeForeign(r, s.hosts) {
		key = "foreign " + key // a page of another site does not use up the attempts of the visitor's own clients
	}
	if s.isUsedUp(key) {
		return access.Principal{}, errTooMany
	}
	if who, err = s.cfg.Tokens.CheckChosen(token); err != nil {
		s.guesses.each.OnLimit(discardHeaders{}, r, key)
	}
	return who, err
}

var errTooMany = errors.New("too many incorrect tokens from your address. Try again in a minute")

func (s *Server) isUsedUp(key string) bool {
	_, rate, err := s.guesses.each.Status(key)
	return err == nil && rate+1 > float64(s.cfg.Limits.Failures)
}

// takePasswordTry counts an attempt at an account's password before it is hashed, so that
// concurrent attempts count too. If there were too many it answers 429 and returns false.
func (s *Server) takePasswordTry(w http.ResponseWriter, r *http.Request, account string) bool {
	at := address(r)
	if s.guesses.passwords.OnLimit(discardHeaders{w}, r, at) ||
		s.guesses.each.OnLimit(discardHeaders{w}, r, "password "+at+" "+account) {
		s.counters.refused.Inc()
		s.tellTooMany(w, r)
		return false
	}
	return true
}

// passwordKey returns the key that password attempts are counted by: an account, or an unknown
// name. Unknown names are limited like known ones, so that the limit does not reveal which names
// exist.
func passwordKey(who access.Principal, name string) string {
	if who.IsKnown() {
		return who.ID
	}
	return "name:" + strings.ToLower(strings.TrimSpace(name))
}

func (s *Server) tellTooMany(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "60")
	s.fail(w, r, http.StatusTooManyRequests,
		"Too many incorrect tokens or passwords from your address. Try again in a minute.")
}

// isForeign reports whether the browser marks the request as made by a page of another site.
func isForeign(r *http.Request, h hosts) bool {
	if r.Header.Get("Origin") != "" {
		return !h.sameOrigin(r)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// maybeForeign also reports true for a request that such a page can make unmarked: over plain http
// the request of an image has no Sec-Fetch-Site. It cannot set headers, so it can neither upgrade
// nor carry a token there.
func maybeForeign(r *http.Request, h hosts) bool {
	return isForeign(r, h) || r.Header.Get("Upgrade") == "" && r.Header.Get("Authorization") == ""
}

// discardHeaders keeps the limiter's headers out of the answer.
type discardHeaders struct{ http.ResponseWriter }

func (discardHeaders) Header() http.Header { return http.Header{} }

func address(r *http.Request) string {
	return httprate.CanonicalizeIP(middleware.GetClientIP(r.Context()))
}
