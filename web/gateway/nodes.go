package gateway

import (
	"net/http"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/web"
)

// TrunkPath is where other nodes request the frames of rooms (ServeTrunk).
const TrunkPath = "/streams"

// Handler answers requests that other nodes pass on. Requests of the nodes themselves go to own.
func (g *Gateway) Handler(own http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor := r.Header.Get(visitorHeader)
		if visitor == "" {
			own.ServeHTTP(w, r)
			return
		}
		secure, grant := r.Header.Get(secureHeader) != "", r.Header.Get(grantHeader)
		for _, name := range []string{visitorHeader, secureHeader, grantHeader} {
			r.Header.Del(name)
		}
		passed := web.FromNode(r, visitor, secure)
		if grant != "" {
			passed = passed.WithContext(live.WithGrant(passed.Context(), grant))
		}
		if h := g.current().hub; h == nil || !h.Server.Serve(w, passed) {
			answerAbsent(w)
		}
	})
}

// ServeTrunk sends a node the frames of its visitors' rooms.
func (g *Gateway) ServeTrunk(w http.ResponseWriter, r *http.Request) {
	if h := g.current().hub; h == nil || !h.Server.ServeSocket(w, r, h.Trunks) {
		answerAbsent(w)
	}
}

func answerAbsent(w http.ResponseWriter) {
	w.Header().Set(absentHeader, "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}
