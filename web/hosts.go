package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// hosts are the host names that requests may be for. A page of another site can make its own name
// resolve to this machine (DNS rebinding), but it cannot make a browser send one of these.
type hosts struct {
	names  map[string]bool
	public *url.URL
}

func newHosts(cfg Config) hosts {
	h := hosts{names: map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}, public: cfg.PublicURL}
	if host, _, err := net.SplitHostPort(cfg.Listen); err == nil && host != "" {
		h.names[strings.ToLower(host)] = true
	}
	if cfg.PublicURL != nil {
		h.names[strings.ToLower(cfg.PublicURL.Hostname())] = true
	}
	for _, name := range cfg.AllowHosts {
		h.names[strings.ToLower(name)] = true
	}
	return h
}

// allows also accepts the address a connection arrived at, for a server that listens on all of
// them: an address cannot be rebound.
func (h hosts) allows(r *http.Request) bool {
	name := hostname(r.Host)
	if h.names[name] {
		return true
	}
	asked, err := netip.ParseAddr(name)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if err != nil || !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().WithZone("") == asked.Unmap()
}

// sameOrigin reports whether a request comes from a page of this server.
func (h hosts) sameOrigin(r *http.Request) bool {
	o, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || o.Host == "" {
		return false
	}
	return strings.EqualFold(o.Host, r.Host) ||
		(h.public != nil && strings.EqualFold(o.Host, h.public.Host) && o.Scheme == h.public.Scheme)
}

// hostname returns a Host header without its port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
