package web

import (
	"net/http"
	"net/url"
	"strings"
)

// Redirect redirects from http to the same page of the public address, whatever the Host header.
func Redirect(public *url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "Send this request to "+public.String()+": unencrypted requests are refused.",
				http.StatusBadRequest)
			return
		}
		to := url.URL{Scheme: public.Scheme, Host: public.Host, Path: "/" + strings.TrimLeft(r.URL.Path, "/")}
		if r.URL.Query().Has("tkn") || r.URL.Query().Has("token") {
			http.Error(w, "A token was sent unencrypted. Create a new one and use "+public.String()+".",
				http.StatusBadRequest)
			return
		}
		to.RawQuery = r.URL.RawQuery
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
	})
}
