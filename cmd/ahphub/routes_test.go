package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/web"
)

// A route without a row is refused to all, so a forgotten one would be noticed only when it is
// needed.
func TestEveryRouteHasARight(t *testing.T) {
	r := chi.NewRouter()
	p := pages.New(pages.Deps{})
	defer p.Close()
	web.PageRoutes{Pages: p}.Routes(r)
	n := 0
	mounted := map[string]bool{}
	err := chi.Walk(r, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		n++
		mounted[method+" "+route] = true
		if err := access.MayVisit(access.Owner(""), method+" "+route); err != nil {
			t.Errorf("%s %s: %v: add a row to the table of routes", method, route, err)
		}
		return nil
	})
	if err != nil || n < 5 {
		t.Fatalf("%d routes were found: %v", n, err)
	}
	for _, row := range access.Routes() {
		if !mounted[row] {
			t.Errorf("the table of routes has %s, which no page is mounted at", row)
		}
	}
}

// Guests are kept in their session by the parameter {session}, so routes must use that name.
func TestSessionRoutesNameTheSession(t *testing.T) {
	r := chi.NewRouter()
	p := pages.New(pages.Deps{})
	defer p.Close()
	web.PageRoutes{Pages: p}.Routes(r)
	_ = chi.Walk(r, func(_, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/s/") && !strings.HasPrefix(route, "/s/{session}") {
			t.Errorf("%s does not name its session {session}", route)
		}
		return nil
	})
}
