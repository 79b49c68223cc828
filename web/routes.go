package web

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// routes lists the whole address space. Everything below the last Group is authenticated and has a
// row in access's table of routes.
func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(s.requestID, s.forwarded, s.clientIP(), s.accessLog, s.recover, s.checkHost, s.headers, s.bound, s.sameOrigin)
	r.NotFound(s.withVisitor(s.cfg.Pages.NotFound))

	r.Get("/healthz", s.healthz)
	r.Get("/readyz", s.readyz)
	r.Handle("/assets/*", s.cfg.Assets)
	r.Get("/favicon.ico", s.favicon)
	r.Get("/signin", s.signInPage)
	r.Post("/signin", s.signIn)
	if s.cfg.Passwords != nil {
		r.Post("/signin/password", s.signInByPassword)
	}
	if s.cfg.Passkeys != nil {
		r.Post("/signin/passkey/begin", s.beginPasskey)
		r.Post("/signin/passkey", s.signInByPasskey)
	}
	if s.cfg.Provider != nil {
		r.Post("/signin/oidc", s.beginProvider)
		r.Get(providerCallback, s.finishProvider)
	}
	r.Post("/signout", s.signOut)
	if s.cfg.Unsubscribe != nil {
		r.Get("/unsubscribe", s.cfg.Unsubscribe)
		r.With(s.audit).Post("/unsubscribe", s.cfg.Unsubscribe)
	}
	if s.cfg.Members != nil {
		r.Get("/invite", s.invitePage)
		r.Post("/invite", s.acceptInvite)
	}
	r.Get("/j", s.joinPage)
	r.Post("/j", s.join)

	r.Group(func(r chi.Router) {
		r.Use(s.byToken)
		r.With(s.mayConnect).Handle("/ahp", s.cfg.RPC)
		r.Get("/metrics", s.metrics)
	})
	if s.cfg.Tools != nil {
		r.With(s.byAgent).Handle("/mcp", s.cfg.Tools)
	}
	r.Group(func(r chi.Router) {
		r.Use(s.socketAtRoot, s.byCookie, s.mayVisit, s.audit)
		s.cfg.Pages.Routes(r)
	})
	return r
}

// agentRoutes lists what agents reach without TLS.
func (s *Server) agentRoutes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.requestID, s.clientIP(), s.accessLog, s.recover, s.checkHost, s.headers, s.bound)
	if s.cfg.Tools != nil {
		r.With(s.byAgent).Handle("/mcp", s.cfg.Tools)
	}
	return r
}
