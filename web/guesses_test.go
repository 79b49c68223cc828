package web

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/access"
)

// guess sends wrong tokens of every kind from one address, many more than the limit allows.
func (x *site) guess() {
	x.t.Helper()
	for range 25 {
		x.ask("GET /ahp?tkn=x", "Sec-Fetch-Site: cross-site")
		x.ask("GET /ahp?tkn=x", "Origin: https://evil.example", "Upgrade: websocket")
		x.ask("GET /ahp?tkn=x") // like an image over plain http
		x.ask("GET /ahp", "Authorization: Bearer x")
		x.ask("POST /mcp", "Authorization: Bearer x")
		x.ask("POST /signin", "token=x")
		x.ask("POST /j", "token=x&name=Eve")
		x.ask("POST /invite", "token=x&name=Eve&password="+url.QueryEscape(phrase))
		x.ask("POST /signin/passkey", "{}")
	}
}

func TestGuessesDoNotLockOutRightTokens(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Tools = fakeTools{} })
	personal, _, err := x.personal.New(t.Context(), "owner", "editor", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	invitation, _, err := x.members.Invite(t.Context(), access.Member{Role: access.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	cookie := x.owner()
	_, link, _ := x.guest(access.RoleViewer)
	oneTime, err := x.signIn.New()
	if err != nil {
		t.Fatal(err)
	}
	x.guess()
	if res := x.ask("GET /ahp", "Authorization: Bearer x"); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more wrong token: %s, want 429", res.Status)
	}
	for name, res := range map[string]*http.Response{
		"the owner's token": x.ask("GET /ahp", "Authorization: Bearer "+ownerToken),
		"in the query":      x.ask("GET /ahp?tkn=" + url.QueryEscape(ownerToken)),
		"from a page of a web client": x.ask("GET /ahp?tkn="+url.QueryEscape(ownerToken),
			"Origin: vscode-file://vscode-app", "Upgrade: websocket"),
		"a personal token":         x.ask("GET /ahp", "Authorization: Bearer "+personal),
		"a link's token":           x.ask("GET /ahp", "Authorization: Bearer "+link),
		"a cookie at the endpoint": x.ask("GET /ahp", cookie, "Upgrade: websocket", "Origin: "+x.URL),
		"a cookie at a page":       x.ask("GET /", cookie),
		"an agent's token":         x.ask("POST /mcp", "Authorization: Bearer "+agentToken),
		"a one-time token":         x.ask("POST /signin", "token="+oneTime),
		"joining by a link":        x.ask("POST /j", "name=Ana&token="+link),
		"taking an invitation": x.ask("POST /invite",
			url.Values{"token": {invitation}, "name": {"Ben"}, "password": {phrase}}.Encode()),
		"beginning with a passkey": x.ask("POST /signin/passkey/begin", "Host: localhost"),
	} {
		if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s after the guesses: %s", name, res.Status)
		}
	}
}

// Requests from a page of another site are refused and do not count against the visitor whose
// browser sends them.
func TestGuessesOfForeignPagesDoNotCount(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures, c.Tools = 3, fakeTools{} })
	for i := range 10 {
		for _, res := range []*http.Response{
			x.ask("GET /ahp?tkn=x", "Origin: https://evil.example"),
			x.ask("GET /ahp?tkn=x", "Origin: null"),
			x.ask("GET /ahp?tkn=x", "Sec-Fetch-Site: cross-site"),
			x.ask("GET /metrics?token=x", "Sec-Fetch-Site: same-site"),
			x.ask("POST /mcp", "Origin: https://evil.example", "Authorization: Bearer x"),
		} {
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("round %d: %s for %s, want 403", i, res.Status, res.Request.Header)
			}
		}
	}
	for i, want := range []int{403, 403, 403, 429} {
		if res := x.ask("GET /ahp", "Authorization: Bearer x"); res.StatusCode != want {
			t.Errorf("guess %d of a client: %s, want %d", i, res.Status, want)
		}
	}
}

// A token that a person chose can be weak: guesses are limited by address, and those from another
// site's page separately.
func TestGuessesAtChosenTokenAreLimited(t *testing.T) {
	x := newSite(t, func(c *Config) {
		c.Limits.Failures = 3
		c.Tokens = access.NewTokens(access.OwnerSecret{Token: ownerToken, Chosen: true}, "Olu", c.Links, nil)
		c.Tools = fakeTools{}
	})
	_, link, _ := x.guest(access.RoleViewer)
	right := "Authorization: Bearer " + ownerToken
	foreign := []string{"Origin: https://evil.example", "Upgrade: websocket"}
	for range 4 {
		x.ask("GET /ahp?tkn=x", foreign...)
		x.ask("POST /mcp", "Authorization: Bearer x")
	}
	if res := x.ask("GET /ahp", right); res.StatusCode != http.StatusOK {
		t.Errorf("the right token after a foreign page's guesses: %s", res.Status)
	}
	if res := x.ask("GET /ahp?tkn="+url.QueryEscape(ownerToken), foreign...); res.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page guesses on: %s", res.Status)
	}
	for range 3 {
		x.ask("GET /ahp", "Authorization: Bearer x")
	}
	if res := x.ask("GET /ahp", right); res.StatusCode != http.StatusTooManyRequests ||
		res.Header.Get("Retry-After") == "" {
		t.Errorf("the right token after three guesses: %s, want 429", res.Status)
	}
	if res := x.ask("GET /ahp", "Authorization: Bearer "+link); res.StatusCode != http.StatusOK {
		t.Errorf("a link's token meanwhile: %s", res.Status)
	}
}

// Passwords are limited by address and account, also for concurrent attempts.
func TestPasswordGuessesAreLimitedByAccount(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures = 5 })
	if err := x.passwords.Set(t.Context(), "owner", phrase); err != nil {
		t.Fatal(err)
	}
	x.invited(access.Member{Role: access.RoleViewer}, "Ben")
	sign := func(name, password string) *http.Response {
		return x.ask("POST /signin/password", url.Values{"username": {name}, "password": {password}}.Encode())
	}
	for _, name := range []string{"Ben", "Nemo"} { // an account and an unknown name look alike
		var hashed, refused atomic.Int32
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				switch res := sign(name, fmt.Sprint("guess ", i)); res.StatusCode {
				case http.StatusForbidden:
					hashed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if hashed.Load() != 5 || refused.Load() != 7 {
			t.Errorf("of 12 guesses at %s at once %d were tried and %d refused, want 5 and 7", name, hashed.Load(),
				refused.Load())
		}
	}
	if res := sign("Ben", phrase); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("Ben's own password: %s, want 429", res.Status)
	}
	if res := sign("", phrase); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the owner's password meanwhile: %s", res.Status)
	}
	for i := range 60 {
		sign(fmt.Sprint("name ", i), "guess")
	}
	if res := sign("another name", "guess"); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one name after the other: %s, want 429", res.Status)
	}
}
