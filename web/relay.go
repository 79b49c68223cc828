package web

import (
	"context"
	"net/http"
	"net/url"
)

// Hosts are the host names that a node's visitors may use.
type Hosts struct{ hosts hosts }

// NewHosts returns the names of a listening address, of a public one (nil: none) and further ones.
func NewHosts(listen string, public *url.URL, more []string) Hosts {
	return Hosts{newHosts(Config{Listen: listen, PublicURL: public, AllowHosts: more})}
}

// Check reports whether the request's host name is allowed. If not, it answers the request.
func (h Hosts) Check(w http.ResponseWriter, r *http.Request) bool {
	if h.hosts.allows(r) {
		return true
	}
	refuseHost(w)
	return false
}

func refuseHost(w http.ResponseWriter) {
	http.Error(w, "Unknown host name. Start ahphub with --public-url or --allow-host to allow it.", http.StatusForbidden)
}

// WithHeaders sets the headers of every answer, for a node that answers without a hub.
func (h Hosts) WithHeaders(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), r, isSecure(r, h.hosts.public))
}

type checkedKey struct{}

// withCheckedHost marks whether another node has checked the host name of a request.
func withCheckedHost(r *http.Request, checked bool) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), checkedKey{}, checked))
}

func hasCheckedHost(r *http.Request) bool {
	checked, _ := r.Context().Value(checkedKey{}).(bool)
	return checked
}

// FromNode returns a request that another node passed on, as it arrived there: from the visitor's address, over TLS or
// not. That node has checked the host name. Only call it for requests that nodes alone can make.
func FromNode(r *http.Request, visitor string, secure bool) *http.Request {
	r = withCheckedHost(r, true)
	r.RemoteAddr = visitor
	r.TLS = nil // of the connection between nodes
	if secure {
		at := *r.URL
		at.Scheme = "https" // read by people.Secure
		r.URL = &at
	}
	return r
}
