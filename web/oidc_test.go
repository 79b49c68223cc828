package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/people"
)

// withProvider gives a site a provider that does not answer; tests supply its claims.
func withProvider(t *testing.T, rules ...string) func(*Config) {
	down := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(down.Close)
	client, err := people.NewOIDC(people.OIDCConfig{Issuer: down.URL, ClientID: "ahphub"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{Name: "Example", OIDC: client,
		Identities: people.Identities{Store: &memory{docs: map[string][]byte{}}}}
	for _, text := range rules {
		r, err := people.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Rules = append(p.Rules, r)
	}
	return func(c *Config) { c.Provider = p }
}

// comes completes a sign-in at the provider.
func (x *site) comes(c people.Claims) *http.Response {
	w := httptest.NewRecorder()
	x.s.welcome(w, httptest.NewRequestWithContext(x.t.Context(), http.MethodGet, "/signin/oidc/callback", nil), c,
		"/s/mine")
	return w.Result()
}

func TestSignInByProvider(t *testing.T) {
	x := newSite(t, withProvider(t, "subject:1=owner", "domain:example.com=commenter"))
	for _, test := range []struct {
		who  people.Claims
		path string
		code int
	}{
		{people.Claims{Subject: "1"}, "/new", 500}, // 500: the test's page panics; visitors without access get 403
		{people.Claims{Subject: "2", Email: "ana@example.com", Verified: true}, "/s/theirs", 200},
		{people.Claims{Subject: "2", Email: "ana@example.com", Verified: true}, "/new", 403},
	} {
		test.who.Issuer = "https://id.example.com"
		res := x.comes(test.who)
		if res.StatusCode != 303 || res.Header.Get("Location") != "/s/mine" {
			t.Fatalf("%+v: %s", test.who, res.Status)
		}
		if got := x.ask("GET "+test.path, cookieOf(t, res)); got.StatusCode != test.code {
			t.Errorf("%+v at %s: %s", test.who, test.path, got.Status)
		}
	}
	for _, c := range []people.Claims{{Subject: "3"}, {Subject: "3", Email: "ben@example.com"},
		{Subject: "3", Email: "ben@elsewhere.example", Verified: true}} {
		res := x.comes(c)
		if len(res.Cookies()) != 0 || res.StatusCode != 403 || !strings.Contains(text(t, res),
			"have access to this server") {
			t.Errorf("%+v came in: %s", c, res.Status)
		}
	}
}

// A person whom no rule matches any more loses access at the next request, and so does everyone
// when the provider is removed.
func TestRulesApplyAtEachVisit(t *testing.T) {
	x := newSite(t, withProvider(t, "anyone=viewer"))
	cookie := cookieOf(t, x.comes(people.Claims{Issuer: "https://id.example.com", Subject: "1", Name: "Ana"}))
	if got := x.ask("GET /s/mine", cookie); got.StatusCode != 200 || !strings.HasPrefix(text(t, got), "person:") {
		t.Fatalf("signed in: %s", got.Status)
	}
	rules := x.s.cfg.Provider.Rules
	x.s.cfg.Provider.Rules = nil
	if got := x.ask("GET /s/mine", cookie); got.StatusCode != 401 {
		t.Errorf("without a rule: %s", got.Status)
	}
	x.s.cfg.Provider.Rules = rules
	provider := x.s.cfg.Provider
	x.s.cfg.Provider = nil
	if got := x.ask("GET /s/mine", cookie); got.StatusCode != 401 {
		t.Errorf("without a provider: %s", got.Status)
	}
	x.s.cfg.Provider = provider
}

func TestProviderIsDown(t *testing.T) {
	x := newSite(t, withProvider(t, "anyone=viewer"))
	if res := x.ask("GET /signin"); res.StatusCode != 200 || !strings.Contains(text(t, res), "Sign in with Example") {
		t.Errorf("the page: %s", res.Status)
	}
	res := x.ask("POST /signin/oidc", "next=/s/mine")
	if body := text(t, res); res.StatusCode != 503 || !strings.Contains(body, "responding. Try again") ||
		!strings.Contains(body, "You can try again") || !strings.Contains(body, `value="/s/mine"`) {
		t.Errorf("while it is down: %s\n%s", res.Status, body)
	}
	for _, path := range []string{"/signin/oidc/callback", "/signin/oidc/callback?state=x&code=y",
		"/signin/oidc/callback?error=call+this+number"} {
		res := x.ask("GET " + path)
		if body := text(t, res); res.StatusCode != 403 || !strings.Contains(body, "started in another browser") ||
			strings.Contains(body, "number") {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if log := x.log.String(); strings.Contains(log, "state=x") || strings.Contains(log, "code=y") {
		t.Errorf("the log has what the provider sent:\n%s", log)
	}
}

func TestGrants(t *testing.T) {
	for text, want := range map[string]access.Principal{
		"owner":                 {Role: access.RoleOwner},
		"member":                {Role: access.RoleMember},
		"viewer":                {Role: access.RoleViewer, Host: true},
		"driver+prompt+type":    {Role: access.RoleDriver, Host: true, Prompt: true, Type: true},
		"driver+approve+guests": {Role: access.RoleDriver, Host: true, Approve: true, Guests: true},
	} {
		if got, err := ParseGrant(text); err != nil || got.Role != want.Role || got.Host != want.Host ||
			got.Prompt != want.Prompt ||
			got.Type != want.Type || got.Approve != want.Approve || got.Guests != want.Guests {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "admin", "agent", "driver", "viewer+prompt", "owner+type", "driver+guests",
		"driver+", "driver+root"} {
		if got, err := ParseGrant(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
