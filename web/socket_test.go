package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
)

// An editor configured with host and port alone opens its socket at "/". Only an upgrade with a
// token gets a socket there: otherwise the address is the page.
func TestSocketAtRootNeedsUpgradeAndToken(t *testing.T) {
	x := newSite(t, nil)
	cookie := x.owner()
	_, link, _ := x.guest(access.RoleViewer)
	const socket, page = "Upgrade: WebSocket", "Accept: text/html"
	tkn := "tkn=" + url.QueryEscape(ownerToken)
	for _, test := range []struct {
		name string
		ask  string
		head []string
		code int
		body string
	}{
		{"token in the query", "GET /?" + tkn, []string{socket}, 200, "root owner "},
		{"token in the header", "GET /", []string{socket, "Authorization: Bearer " + ownerToken}, 200, "root owner "},
		{"token from a page elsewhere", "GET /?" + tkn, []string{socket, "Origin: https://elsewhere.example"}, 200,
			"root owner "},
		{"a link's token", "GET /?tkn=" + link, []string{socket}, 200, "root link:"},
		{"wrong token", "GET /?tkn=wrong", []string{socket}, 403, ""},
		{"empty token", "GET /?tkn=", []string{socket}, 403, ""},
		{"wrong token beside a cookie", "GET /?tkn=wrong", []string{socket, cookie, "Origin: " + x.URL}, 403, ""},
		{"no token", "GET /", []string{socket}, 401, "Sign in first"},
		{"no token, a cookie", "GET /", []string{socket, cookie, "Origin: " + x.URL}, 200, "owner"},
		{"no token, a cookie, from elsewhere", "GET /", []string{socket, cookie, "Origin: https://elsewhere.example"},
			403, ""},
		{"no upgrade", "GET /?" + tkn, nil, 401, ""},
		{"no upgrade, a cookie", "GET /?" + tkn, []string{cookie}, 200, "owner"},
		{"another upgrade", "GET /?" + tkn, []string{"Upgrade: h2c"}, 401, ""},
		{"another method", "POST /?" + tkn, []string{socket}, 405, ""},
		{"another page", "GET /s/mine?" + tkn, []string{socket}, 401, ""},
		{"the pages' stream", "GET /live?" + tkn, []string{socket}, 401, ""},
		{"no page", "GET /nowhere?" + tkn, []string{socket}, 404, ""},
	} {
		res := x.ask(test.ask, test.head...)
		body := text(t, res)
		if res.StatusCode != test.code || !strings.HasPrefix(body, test.body) ||
			strings.HasPrefix(body, "root") != strings.HasPrefix(test.body, "root") {
			t.Errorf("%s: %s %.80q, want %d %q", test.name, res.Status, body, test.code, test.body)
		}
		if len(res.Cookies()) > 0 || strings.Contains(body, "secret") {
			t.Errorf("%s: signed in, or the token came back: %v %q", test.name, res.Cookies(), body)
		}
	}
	res := x.ask("GET /?a=b&"+tkn+"&TOKEN="+url.QueryEscape(ownerToken), page)
	if to := res.Header.Get("Location"); res.StatusCode != 303 || to != "/signin?next=%2F%3Fa%3Db" {
		t.Errorf("a browser with a token in the address: %s to %q", res.Status, to)
	}
	if log := x.log.String(); strings.Contains(log, "long+secret") || strings.Contains(log, "long secret") ||
		strings.Contains(log, link) {
		t.Errorf("a token is in the log:\n%s", log)
	}
}
