package web

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub/access"
)

// socketAtRoot serves the protocol's socket at "/" to clients that send a token with the upgrade
// request: an editor configured with host and port alone opens ws://host:port?tkn=… there. All
// other requests for "/" are for the page, so a token in a page's address never signs anyone in.
func (s *Server) socketAtRoot(next http.Handler) http.Handler {
	socket := s.byToken(s.mayConnect(s.cfg.RootRPC))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, shown := bearer(r)
		if shown && isSocket(r) && chi.RouteContext(r.Context()).RoutePattern() == "/" {
			socket.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// mayConnect checks the table of sockets. It is mounted on a route, so the pattern is known.
func (s *Server) mayConnect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := access.MayConnect(access.FromContext(r.Context()),
			chi.RouteContext(r.Context()).RoutePattern()); err != nil {
			http.Error(w, sentence(err.Error()), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
