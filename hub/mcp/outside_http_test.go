package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/ahp"
)

// AHP requirement 190.
func TestServerGetsRequestedToken(t *testing.T) {
	var asked []string
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return outsideServer() }, nil)
	var at string
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"resource": at,
			"authorization_servers": []string{"https://login.example.com"}, "scopes_supported": []string{"files"}})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-token" || r.Header.Get("X-Team") != "blue" {
			asked = append(asked, r.Header.Get("Authorization"))
			w.Header().Set("WWW-Authenticate", `Bearer scope="files", error_description="Who are you?"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	at = srv.URL + "/mcp"
	w := outsideWorld(t, map[string]any{"web": map[string]any{"type": "http", "url": at,
		"headers": map[string]string{"X-Team": "blue"}}})
	w.trust("web")
	if reason := w.start("web"); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("web", "authRequired required "+at)
	need := w.listed("web").State.Value.(*ahp.McpServerAuthRequiredState)
	if !slices.Equal(need.Resource.AuthorizationServers, []string{"https://login.example.com"}) ||
		need.Description != "Who are you?" || !slices.Equal(need.RequiredScopes, []string{"files"}) {
		t.Errorf("it asks for %+v", need)
	}
	authenticate := func(resource, token string) error {
		_, err := w.host.Authenticate(t.Context(), anasClient, ahp.AuthenticateParams{Resource: resource, Token: token})
		return err
	}
	if authenticate("https://elsewhere.example.com", "the-token") == nil {
		t.Error("a token for a resource that nobody asked for was taken")
	}
	w.must(authenticate(at, "wrong"))
	w.untilState("web", "authRequired expired "+at)
	w.must(authenticate(at, "the-token"))
	w.untilState("web", "ready")
	if strings.Contains(w.log.String(), "the-token") {
		t.Error("the token is logged")
	}
	if raw, _ := json.Marshal(w.session(outside)); strings.Contains(string(raw), "the-token") {
		t.Error("the token is in the session's state")
	}
}
