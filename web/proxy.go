package web

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/people"
)

// forwarded takes the original host name and scheme of a request from a trusted proxy, and ignores
// those headers from others.
func (s *Server) forwarded(next http.Handler) http.Handler {
	if len(s.cfg.Proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.byProxy(r) {
			r = r.Clone(r.Context())
			if lastValue(r.Header, "X-Forwarded-Proto") == "https" {
				r.URL.Scheme = "https" // read by people.Secure
			}
			if host := lastValue(r.Header, "X-Forwarded-Host"); host != "" && !strings.EqualFold(host, r.Host) {
				r = withCheckedHost(r, false) // no node has checked this name
				r.Host = host
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

// lastValue returns the value that the nearest proxy wrote; a client may have forged those before it.
func lastValue(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) == 0 {
		return ""
	}
	v := values[len(values)-1]
	return strings.ToLower(strings.TrimSpace(v[strings.LastIndex(v, ",")+1:]))
}

// secure reports whether the browser's request came over TLS.
func (s *Server) secure(r *http.Request) bool { return isSecure(r, s.cfg.PublicURL) }

func isSecure(r *http.Request, public *url.URL) bool {
	return people.Secure(r) || public != nil && public.Scheme == "https" && strings.EqualFold(r.Host, public.Host)
}
