package web

import (
	"bytes"
	"encoding/json"
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

// serviceWorker serves the script that shows push messages. It is at the root because a worker
// controls only pages below its own address.
func (s *Server) serviceWorker(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", workerPolicy)
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(bytes.ReplaceAll(s.cfg.Assets.Content("js/service-worker.js"), []byte("/assets/push-icon"),
		[]byte(s.cfg.Assets.Path("img/icon-192.png"))))
}

// manifest lets a browser offer to install the pages as an app. It is the same for everyone and names no account:
// browsers fetch it without cookies.
func (s *Server) manifest(w http.ResponseWriter, _ *http.Request) {
	icon := func(size string) map[string]string {
		return map[string]string{"src": s.cfg.Assets.Path("img/icon-" + size + ".png"), "sizes": size + "x" + size,
			"type": "image/png", "purpose": "any maskable"}
	}
	w.Header().Set("Content-Type", "application/manifest+json")
	w.Header().Set("Cache-Control", "max-age=3600")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": "ahphub", "short_name": "ahphub", "id": "/", "start_url": "/",
		"scope": "/", "display": "standalone", "theme_color": "#0a5cc2", "background_color": "#ffffff",
		"icons": []map[string]string{icon("192"), icon("512")}}) // the browser may have disconnected
}
