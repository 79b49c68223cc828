package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
)

const agentToken = "the agent's own long secret"

// fakeTools echoes requests.
type fakeTools struct{}

func (fakeTools) Knows(token string) bool { return token == agentToken }

func (fakeTools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	fmt.Fprint(w, "tools ", len(body), err, r.URL.RawQuery, r.Header.Get("Cookie"), access.FromContext(r.Context()).ID)
}

func TestAgentEndpoint(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Tools = fakeTools{} })
	cookie := x.owner()
	_, link, _ := x.guest(access.RoleCommenter)
	mine := "Authorization: Bearer " + agentToken
	for _, test := range []struct {
		name, ask string
		head      []string
		code      int
	}{
		{"its token", "POST /mcp", []string{mine}, 200},
		{"its token beside a cookie and a query", "POST /mcp?a=b", []string{mine, cookie}, 200},
		{"nothing", "POST /mcp", nil, 401},
		{"the owner's cookie", "POST /mcp", []string{cookie}, 401},
		{"the owner's token", "POST /mcp", []string{"Authorization: Bearer " + ownerToken}, 403},
		{"a link's token", "POST /mcp", []string{"Authorization: Bearer " + link}, 403},
		{"another scheme", "POST /mcp", []string{"Authorization: Basic " + agentToken}, 403},
		{"in the query", "POST /mcp?token=" + strings.ReplaceAll(agentToken, " ", "+"), nil, 401},
		{"passed on by a proxy", "POST /mcp", []string{mine, "X-Forwarded-For: 192.0.2.1"}, 403},
		{"from a page elsewhere", "POST /mcp", []string{mine, "Origin: https://elsewhere.example"}, 403},
		{"its token at the protocol's door", "GET /ahp", []string{mine}, 403},
		{"its token at a page", "GET /", []string{mine}, 401},
		{"its token at the numbers", "GET /metrics", []string{mine}, 403},
	} {
		res := x.ask(test.ask, test.head...)
		body := text(t, res)
		if res.StatusCode != test.code || test.code == 200 && body != "tools 0 <nil>" {
			t.Errorf("%s: %s %q, want %d", test.name, res.Status, body, test.code)
		}
	}
	if log := x.log.String(); strings.Contains(log, "own long secret") {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

func TestAgentEndpointIsBounded(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Tools, c.Limits.Body, c.Limits.Failures = fakeTools{}, 100, 3 })
	if res := x.ask("POST /mcp", "Authorization: Bearer "+agentToken, strings.Repeat("x", 101)); res.StatusCode != 413 {
		t.Errorf("a body that is too long: %s", res.Status)
	}
	if res := x.ask("POST /mcp", "Authorization: Bearer "+agentToken, "{\"x\":\"\xfe\"}"); res.StatusCode != 400 ||
		!strings.Contains(text(t, res), "-32700") {
		t.Errorf("a body that is not UTF-8: %s", res.Status)
	}
	for range 3 {
		if res := x.ask("POST /mcp", "Authorization: Bearer wrong"); res.StatusCode != 403 {
			t.Errorf("a wrong token: %s", res.Status)
		}
	}
	if res := x.ask("POST /mcp", "Authorization: Bearer wrong"); res.StatusCode != 429 {
		t.Errorf("too many wrong tokens: %s", res.Status)
	}
	if res := x.ask("POST /mcp", "Authorization: Bearer "+agentToken); res.StatusCode != 200 {
		t.Errorf("another agent, meanwhile: %s", res.Status)
	}
}

func TestAgentEndpointIsLocal(t *testing.T) {
	for from, want := range map[string]bool{"127.0.0.1:5": true, "[::1]:5": true, "192.0.2.7:5": false,
		"nonsense": false} {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.RemoteAddr = from
		if isLocal(r) != want {
			t.Errorf("%s is here: %t", from, !want)
		}
	}
}
