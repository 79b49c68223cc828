package web

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/people"
)

// forwarded takes from a proxy that is trusted which name and scheme a request had before it. What anybody else says of
// that is not looked at.
func (s *Server) forwarded(next http.Handler) http.Handler {
	if len(s.cfg.Proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.byProxy(r) {
			r = r.Clone(r.Context())
			if last(r.Header, "X-Forwarded-Proto") == "https" {
				r.URL.Scheme = "https" // where people.Secure looks
			}
			if host := last(r.Header, "X-Forwarded-Host"); host != "" {
				r.Host = host // checked like any other
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) byProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr := peer.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(s.cfg.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// last is the value that the nearest proxy wrote: those before it may be anybody's.
func last(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) == 0 {
		return ""
	}
	v := values[len(values)-1]
	return strings.ToLower(strings.TrimSpace(v[strings.LastIndex(v, ",")+1:]))
}

// secure reports whether the browser of a request came by TLS.
func (s *Server) secure(r *http.Request) bool {
	return people.Secure(r) || s.cfg.PublicURL != nil && s.cfg.PublicURL.Scheme == "https" && strings.EqualFold(r.Host, s.cfg.PublicURL.Host)
}
