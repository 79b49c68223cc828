package web

import (
	"bytes"
	"net/http"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// frame returns the frame of this package's few pages, which have no signed-in visitor.
func (s *Server) frame(title string) part.Frame {
	return part.Frame{Title: title, Asset: s.cfg.Assets.Path, Imports: s.cfg.Assets.Imports,
		Viewer: part.Viewer{Guest: true}, Body: "door", Styles: []string{"css/door.css"},
		Scripts: []string{"js/token.js"}}
}

// fail sends an error: one sentence to scripts, a page to browsers.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	if r.Header.Get("X-Fragment") != "" || r.Header.Get("Upgrade") != "" {
		http.Error(w, text, status)
		return
	}
	m := page.Error{Status: status, Text: text, Frame: s.frame(page.ErrorTitle(status))}
	if status >= 500 {
		m.ID = middleware.GetReqID(r.Context())
	}
	s.send(w, r, status, page.ErrorPage(m))
}

// unavailable answers when the store fails.
func (s *Server) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	s.cfg.Log.ErrorContext(r.Context(), "cannot authenticate a request", "err", err, "request",
		middleware.GetReqID(r.Context()))
	s.fail(w, r, http.StatusServiceUnavailable, "ahphub can't read its data right now. Try again in a moment.")
}

// send renders to memory first, so that a failing template sends nothing partial.
func (s *Server) send(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	if err := c.Render(r.Context(), &b); err != nil {
		s.cfg.Log.ErrorContext(r.Context(), "a page was not rendered", "err", err)
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may have disconnected
}

// sentence capitalizes s and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = string(c-'a'+'A') + s[1:]
	}
	if s[len(s)-1] != '.' {
		s += "."
	}
	return s
}
