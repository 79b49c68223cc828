package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestSignInByPassword(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures = 3 })
	try := func(password string, more ...string) *http.Response {
		return x.ask("POST /signin/password",
			append(more, url.Values{"password": {password}, "next": {"/s/mine"}}.Encode())...)
	}
	if strings.Contains(text(t, x.ask("GET /signin")), "current-password") {
		t.Error("a password is asked for that nobody set")
	}
	if res := try(""); res.StatusCode != 403 {
		t.Errorf("no password where none was set: %s", res.Status)
	}
	if err := x.passwords.Set(t.Context(), "owner", "nine char"); err == nil {
		t.Error("a short password was taken")
	}
	const good = "correct horse battery"
	if err := x.passwords.Set(t.Context(), "owner", good); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text(t, x.ask("GET /signin")), "current-password") {
		t.Error("the page asks for no password")
	}
	planted := x.owner()
	res := try(good, planted)
	if res.StatusCode != 303 || res.Header.Get("Location") != "/s/mine" {
		t.Fatalf("the password: %s to %q", res.Status, res.Header.Get("Location"))
	}
	cookie := cookieOf(t, res)
	if got := text(t, x.ask("GET /", cookie)); got != "owner" || cookie == planted {
		t.Errorf("signed in as %q, with a new cookie: %v", got, cookie != planted)
	}
	if res := x.ask("GET /", planted); res.StatusCode != 401 {
		t.Errorf("the cookie from before: %s", res.Status)
	}
	if res := try(good + "x"); res.StatusCode != 403 || len(res.Cookies()) != 0 {
		t.Errorf("a wrong password: %s", res.Status)
	}
	if res := try(good, "Origin: https://evil.example"); res.StatusCode != 403 {
		t.Errorf("from another site: %s", res.Status)
	}
	try("again")
	if res := try(good); res.StatusCode != 429 {
		t.Errorf("after too many: %s", res.Status)
	}
	if log := x.log.String(); strings.Contains(log, good) || strings.Contains(log, "correct+horse") {
		t.Error("the password is in the log")
	}
}

func TestPersonalTokenActsAsOwner(t *testing.T) {
	x := newSite(t, nil)
	token, kept, err := x.personal.New(t.Context(), "owner", "editor", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, x.ask("GET /ahp", "Authorization: Bearer "+token)); got != "owner " {
		t.Errorf("it is %q", got)
	}
	if err := x.personal.Revoke(t.Context(), kept.ID); err != nil {
		t.Fatal(err)
	}
	if res := x.ask("GET /ahp", "Authorization: Bearer "+token); res.StatusCode != 403 {
		t.Errorf("revoked: %s", res.Status)
	}
	if strings.Contains(x.log.String(), token) {
		t.Error("the token is in the log")
	}
}
