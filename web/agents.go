package web

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"
)

// byAgent guards the host's tools. It admits programs on this machine that show their agent's token
// in the header. Cookies and other tokens are refused, and that token opens nothing else.
func (s *Server) byAgent(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r) {
			http.Error(w, "Only agents on the server's own machine can use this address.", http.StatusForbidden)
			return
		}
		kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if kind == "" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ahphub agents"`)
			http.Error(w, "Send the agent's token: Authorization: Bearer …", http.StatusUnauthorized)
			return
		}
		if !strings.EqualFold(kind, "Bearer") || !s.cfg.Tools.Knows(token) {
			s.refuseToken(w, r, "This token is invalid. An agent's token expires with its session.")
			return
		}
		r.Header.Del("Cookie")
		r.URL.RawQuery = ""
		if s.readWhole(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// isLocal reports whether a request was made on this machine and not forwarded by a proxy.
func isLocal(r *http.Request) bool {
	for _, by := range []string{"X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-Ip", "Via"} {
		if r.Header.Get(by) != "" {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	if from.Addr().Unmap().IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr() == from.Addr()
}

// readWhole reads the body within its deadline, and then lifts the deadline: a tool may take longer
// to answer than a body to arrive. If it refuses a body, it answers the request.
func (s *Server) readWhole(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		return true
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "The request is too large or didn't arrive in time.", http.StatusRequestEntityTooLarge)
		return false
	}
	if !utf8.Valid(body) { // agents' text reaches the timeline
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not valid UTF-8"}}`)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // not every writer supports it
	return true
}
