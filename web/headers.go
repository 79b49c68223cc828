package web

import (
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/people"
)

// Content security policies. The library that draws terminals needs inline styles, so a terminal is
// a document of its own, framed by ours, with its own policy. Pictures of other sites are allowed
// because a person may load one by a click; pages never load them by themselves.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src " +
		"'self'; " +
		"font-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types ahphub"
	// the worker connects only to this server
	workerPolicy = "default-src 'none'; connect-src 'self'"
	framePolicy  = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; " +
		"require-trusted-types-for 'script'; trusted-types ahphub-terminal"
)

func (s *Server) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header(), r, s.secure(r))
		next.ServeHTTP(w, r)
	})
}

// setHeaders sets the headers of every answer. secure: the browser's request came over TLS.
func setHeaders(h http.Header, r *http.Request, secure bool) {
	policy, framing := pagePolicy, "DENY"
	if isTerminalFrame(r.URL.Path) {
		policy, framing = framePolicy, "SAMEORIGIN"
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", framing)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	if secure && !people.IsLocal(hostname(r.Host)) { // other programs share "localhost"
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// isTerminalFrame matches /s/{session}/t/{terminal}/frame.
func isTerminalFrame(path string) bool {
	p := strings.Split(path, "/")
	return len(p) == 6 && p[1] == "s" && p[3] == "t" && p[5] == "frame"
}
