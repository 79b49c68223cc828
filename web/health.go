package web

import (
	"net/http"

	"github.com/ahphub/ahphub/hub/access"
)

// healthz reports that the process is up.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("ok\n"))
}

// readyz reports whether actions are accepted: they are not while the journal cannot be written.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := s.cfg.Ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if access.FromContext(r.Context()).Role != access.RoleOwner {
		http.Error(w, "Metrics are for the owner only. Send the owner's token.", http.StatusForbidden)
		return
	}
	s.counters.handler.ServeHTTP(w, r)
}

func (s *Server) favicon(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, s.cfg.Assets.Path("img/icon.svg"), http.StatusFound)
}
