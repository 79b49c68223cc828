package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub"
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
	// AHP requirement 189
	if err := authenticate(at, "wrong"); err == nil || !strings.Contains(err.Error(), "web refused it") {
		t.Errorf("a token that the server refuses is answered %v", err)
	}
	w.untilState("web", "authRequired expired "+at)
	if need := w.listed("web").State.Value.(*ahp.McpServerAuthRequiredState); need.Resource.Required != nil &&
		!*need.Resource.Required { // AHP requirement 191
		t.Error("a token without which the server does not run is not required")
	}
	w.must(authenticate(at, "the-token"))
	w.untilState("web", "ready")
	if strings.Contains(w.log.String(), "the-token") {
		t.Error("the token is logged")
	}
	root, _ := hub.StateOf[*ahp.RootState](w.hub, ahp.RootURI)
	for name, state := range map[string]ahp.State{"the session": w.session(outside), "root": root} {
		if raw, _ := json.Marshal(state); strings.Contains(string(raw), "the-token") { // AHP requirement 193
			t.Errorf("the token is in the state of %s", name)
		}
	}
}
