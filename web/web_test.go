package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/people"
)

func TestSignIn(t *testing.T) {
	x := newSite(t, nil)
	res := x.ask("GET /s/mine?a=b", "Accept: text/html")
	if to := res.Header.Get("Location"); res.StatusCode != 303 || to != "/signin?next=%2Fs%2Fmine%3Fa%3Db" {
		t.Errorf("a browser that is not signed in: %s to %q", res.Status, to)
	}
	if res := x.ask("GET /s/mine"); res.StatusCode != 401 {
		t.Errorf("a script that is not signed in: %s", res.Status)
	}
	token, _ := x.signIn.New()
	res = x.ask("POST /signin", "token="+token+"&next=/s/mine")
	cookie := cookieOf(t, res)
	if res.StatusCode != 303 || res.Header.Get("Location") != "/s/mine" {
		t.Errorf("signing in: %s to %q", res.Status, res.Header.Get("Location"))
	}
	if got := text(t, x.ask("GET /", cookie)); got != "owner" {
		t.Errorf("signed in as %q", got)
	}
	again := x.ask("POST /signin", "token="+token)
	if again.StatusCode != 403 || len(again.Cookies()) != 0 || !strings.Contains(text(t, again), "ahphub link") {
		t.Errorf("the token worked twice: %s", again.Status)
	}
	if res := x.ask("POST /signout", cookie); res.StatusCode != 303 {
		t.Errorf("signing out: %s", res.Status)
	}
	if res := x.ask("GET /", cookie); res.StatusCode != 401 {
		t.Errorf("after signing out: %s", res.Status)
	}
	for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1"} {
		token, _ := x.signIn.New()
		res := x.ask("POST /signin", url.Values{"token": {token}, "next": {next}}.Encode())
		if to := res.Header.Get("Location"); to != "/" {
			t.Errorf("next=%s leads to %q", next, to)
		}
	}
}

// Signing out is answered once other nodes of a cluster have ended the browser's streams.
func TestSignOutAwaitsNodes(t *testing.T) {
	var awaited bool
	x := newSite(t, func(c *Config) { c.AwaitNodes = func(context.Context) { awaited = true } })
	token, _ := x.signIn.New()
	cookie := cookieOf(t, x.ask("POST /signin", "token="+token))
	if awaited {
		t.Error("signing in waits for other nodes")
	}
	if res := x.ask("POST /signout", cookie); res.StatusCode != 303 || !awaited {
		t.Errorf("signing out: %s, other nodes are awaited: %v", res.Status, awaited)
	}
}

func TestProtocolEndpointAuthentication(t *testing.T) {
	x := newSite(t, nil)
	cookie := x.owner()
	_, link, _ := x.guest(access.RoleViewer)
	upgrade := "Upgrade: websocket"
	for _, test := range []struct {
		name string
		path string
		head []string
		code int
		who  string
	}{
		{"nothing", "/ahp", nil, 401, ""},
		{"bearer", "/ahp", []string{"Authorization: Bearer " + ownerToken}, 200, "owner "},
		{"bearer from a page elsewhere", "/ahp",
			[]string{"Authorization: Bearer " + ownerToken, "Origin: https://elsewhere.example", upgrade}, 200,
			"owner "},
		{"tkn", "/ahp?tkn=" + url.QueryEscape(ownerToken), nil, 200, "owner "},
		{"token", "/ahp?token=" + url.QueryEscape(ownerToken), nil, 200, "owner "},
		{"wrong", "/ahp?tkn=wrong", nil, 403, ""},
		{"empty", "/ahp?tkn=", nil, 403, ""},
		{"another scheme", "/ahp", []string{"Authorization: Basic b3duZXI6"}, 403, ""},
		{"wrong beside a cookie", "/ahp", []string{"Authorization: Bearer wrong", cookie}, 403, ""},
		{"a link's token", "/ahp?token=" + link, nil, 200, "link:"},
		{"cookie from here", "/ahp", []string{cookie, upgrade, "Origin: " + x.URL}, 200, "owner "},
		{"cookie from elsewhere", "/ahp", []string{cookie, upgrade, "Origin: https://elsewhere.example"}, 403, ""},
		{"cookie without origin", "/ahp", []string{cookie, upgrade}, 403, ""},
	} {
		res := x.ask("GET "+test.path, test.head...)
		body := text(t, res)
		if res.StatusCode != test.code || !strings.HasPrefix(body, test.who) {
			t.Errorf("%s: %s %q, want %d %q", test.name, res.Status, body, test.code, test.who)
		}
		if strings.Contains(body, ownerToken) || strings.Contains(body, " tkn=") && test.code == 200 {
			t.Errorf("%s: the token went on to the handler: %q", test.name, body)
		}
	}
	if log := x.log.String(); strings.Contains(log, "own long secret") || strings.Contains(log, link) {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

func TestForeignSitesAreRefused(t *testing.T) {
	x := newSite(t, func(c *Config) {
		c.PublicURL = &url.URL{Scheme: "https", Host: "hub.example.com"}
		c.AllowHosts = []string{"box.local"}
	})
	cookie := x.owner()
	for host, want := range map[string]int{"evil.example": 403, "evil.example:8137": 403, "10.1.2.3": 403,
		"hub.example.com": 200, "HUB.example.com:443": 200, "box.local:8137": 200, "localhost:1": 200,
		"[::1]:80": 200} {
		if res := x.ask("GET /healthz", "Host: "+host); res.StatusCode != want {
			t.Errorf("Host %s: %s, want %d", host, res.Status, want)
		}
	}
	for name, head := range map[string][]string{
		"another origin": {"Origin: https://evil.example"},
		"fetch metadata": {"Sec-Fetch-Site: cross-site"},
		"a sibling":      {"Sec-Fetch-Site: same-site", "Origin: https://evil.hub.example.com"},
		"null":           {"Origin: null"},
	} {
		res := x.ask("POST /signout", append(head, cookie)...)
		if res.StatusCode != 403 {
			t.Errorf("a form from %s: %s", name, res.Status)
		}
	}
	if res := x.ask("GET /live", cookie, "Upgrade: websocket", "Origin: https://evil.example"); res.StatusCode != 403 {
		t.Errorf("a stream opened from another site: %s", res.Status)
	}
	if got := text(t, x.ask("GET /", cookie)); got != "owner" {
		t.Errorf("the refused forms had an effect: %q", got)
	}
	if res := x.ask("POST /signout", "Origin: https://hub.example.com", cookie); res.StatusCode != 303 {
		t.Errorf("a form of our own public address: %s", res.Status)
	}
}

func TestGuests(t *testing.T) {
	x := newSite(t, nil)
	cookie, token, link := x.guest(access.RoleCommenter)
	if got := text(t, x.ask("GET /s/mine", cookie)); !strings.HasPrefix(got, "guest:") {
		t.Errorf("a guest sees their session as %q", got)
	}
	if res := x.ask("GET /s/theirs", cookie); res.StatusCode != 404 {
		t.Errorf("a guest in another session: %s", res.Status)
	}
	if res := x.ask("GET /", cookie); res.StatusCode != 303 || res.Header.Get("Location") != "/s/mine" {
		t.Errorf("a guest at the inbox: %s", res.Status)
	}
	if res := x.ask("GET /new", cookie); res.StatusCode != 403 {
		t.Errorf("a guest at an owner's page: %s", res.Status)
	}
	if res := x.ask("GET /metrics", "Authorization: Bearer "+token); res.StatusCode != 403 {
		t.Errorf("a guest at the figures: %s", res.Status)
	}
	twice := x.ask("POST /j", "name=Ben&token="+token, cookie)
	if twice.StatusCode != 303 || len(twice.Cookies()) != 0 || len(x.links.List("")[0].Uses) != 1 {
		t.Errorf("joining twice makes another guest: %s", twice.Status)
	}
	if said := text(t, x.ask("POST /j", "look=1&token="+token)); !strings.Contains(said,
		"invited you to “Title of mine” as a commenter") ||
		!strings.Contains(said, "comment, and mark files as reviewed") || len(x.links.List("")[0].Uses) != 1 {
		t.Errorf("before joining one is told %q", said)
	}
	nameless := x.ask("POST /j", "name=+&token="+token)
	if nameless.StatusCode != 422 || !strings.Contains(text(t, nameless), "nter a name") {
		t.Errorf("joining without a name: %s", nameless.Status)
	}

	res := x.ask("GET /live", cookie)
	if err := x.links.Revoke(t.Context(), link.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-x.pages.ended; !errors.Is(err, access.ErrRevoked) {
		t.Errorf("an open stream ended with %v", err)
	}
	res.Body.Close()
	if res := x.ask("GET /s/mine", cookie, "Accept: text/html"); res.StatusCode != 403 ||
		!strings.Contains(text(t, res), "Ask for a new one") {
		t.Errorf("after revoking: %s", res.Status)
	}
	if res := x.ask("GET /ahp", cookie); res.StatusCode != 403 {
		t.Errorf("after revoking, the endpoint: %s", res.Status)
	}
	cookie2, token2, _ := x.guest(access.RoleViewer)
	if res := x.ask("POST /j", "name=Ana&token="+token2, cookie); res.StatusCode != 303 || cookie2 == "" {
		t.Errorf("a guest whose link is gone cannot come by another: %s", res.Status)
	}
	if res := x.ask("POST /j", "name=Ana&token="+token); res.StatusCode != 403 {
		t.Errorf("joining by a revoked link: %s", res.Status)
	}
}

func TestGuessesAreLimited(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures = 5 })
	ask := []func() *http.Response{
		func() *http.Response { return x.ask("POST /signin", "token=guess") },
		func() *http.Response { return x.ask("POST /j", "token=guess&name=Ana") },
		func() *http.Response { return x.ask("GET /ahp?tkn=guess") },
	}
	for i := range 5 {
		if res := ask[i%3](); res.StatusCode != 403 {
			t.Fatalf("wrong token %d: %s", i, res.Status)
		}
	}
	for i, f := range ask {
		if res := f(); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
			t.Errorf("guess %d after the limit: %s", i, res.Status)
		}
	}
	if res := x.ask("GET /healthz"); res.StatusCode != 200 {
		t.Errorf("the rest is closed too: %s", res.Status)
	}
}

func TestSecurityHeaders(t *testing.T) {
	x := newSite(t, nil)
	cookie := x.owner()
	for _, path := range []string{"/", "/signin", "/j", "/healthz", "/nowhere", "/new"} {
		h := x.ask("GET "+path, cookie).Header
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';",
			"frame-ancestors 'none'",
			"base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q misses %q", path, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %q", path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
			h.Get("Cross-Origin-Opener-Policy") != "same-origin" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %v", path, h)
		}
	}
	frame := x.ask("GET /s/mine/t/1/frame", cookie).Header.Get("Content-Security-Policy")
	if !strings.Contains(frame, "style-src 'self' 'unsafe-inline'") || !strings.Contains(frame, "script-src 'self';") ||
		!strings.Contains(frame,
			"frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types ahphub-terminal") {
		t.Errorf("the terminal's frame: %q", frame)
	}
}

func TestSecureCookiesBehindHTTPS(t *testing.T) {
	store := &memory{docs: map[string][]byte{}}
	cookies, err := people.New(people.Config{Store: store, Key: bytes.Repeat([]byte("k"), 32), Secure: true})
	if err != nil {
		t.Fatal(err)
	}
	x := newSite(t, func(c *Config) {
		c.Cookies, c.PublicURL = cookies, &url.URL{Scheme: "https", Host: "hub.example.com"}
	})
	token, _ := x.signIn.New()
	res := x.ask("POST /signin", "token="+token, "Host: hub.example.com")
	if c := res.Cookies()[0]; !c.Secure || !c.HttpOnly {
		t.Errorf("the cookie is %v", c)
	}
	if res.Header.Get("Strict-Transport-Security") == "" {
		t.Error("nothing keeps browsers to https")
	}
	if res := x.ask("GET /signin", "Host: localhost"); res.Header.Get("Strict-Transport-Security") != "" {
		t.Error("every program at localhost is kept to https")
	}
}

func TestPanicsAndUnlistedRoutes(t *testing.T) {
	x := newSite(t, nil)
	cookie := x.owner()
	res := x.ask("GET /new", cookie)
	body := text(t, res)
	if res.StatusCode != 500 || strings.Contains(body, "a bug") || !strings.Contains(x.log.String(), "a bug") {
		t.Errorf("a panic: %s\n%s", res.Status, body)
	}
	_, id, _ := strings.Cut(x.log.String(), `msg="a handler panicked" request=`)
	if id, _, _ = strings.Cut(id, " "); id == "" || !strings.Contains(body, id) {
		t.Errorf("the page does not show the id %q of the log", id)
	}
	if res := x.ask("GET /undecided", cookie); res.StatusCode != 403 {
		t.Errorf("a route that is in no table is open to the owner: %s", res.Status)
	}
	if res := x.ask("GET /healthz"); res.StatusCode != 200 {
		t.Errorf("after a panic: %s", res.Status)
	}
}

func TestHealth(t *testing.T) {
	var broken error
	x := newSite(t, func(c *Config) {
		c.Ready = func() error { return broken }
		c.Metrics = []Metric{{Name: "ahphub_server_seq", Help: "A number.", Read: func() float64 { return 41 }}}
	})
	if res := x.ask("GET /readyz"); res.StatusCode != 200 {
		t.Errorf("ready: %s", res.Status)
	}
	broken = errors.New("the disk is full")
	if res := x.ask("GET /readyz"); res.StatusCode != 503 || !strings.Contains(text(t, res), "disk is full") {
		t.Errorf("not ready: %s", res.Status)
	}
	if res := x.ask("GET /metrics"); res.StatusCode != 401 {
		t.Errorf("figures for everybody: %s", res.Status)
	}
	x.ask("GET /s/secret-name-of-a-session")
	res := x.ask("GET /metrics", "Authorization: Bearer "+ownerToken)
	body := text(t, res)
	if !strings.Contains(body, "ahphub_server_seq 41") || !strings.Contains(body, `route="/readyz"`) ||
		strings.Contains(body, "secret-name") {
		t.Errorf("figures: %s\n%s", res.Status, body)
	}
	if !strings.Contains(body, `ahphub_http_request_seconds_bucket{route="/readyz",le="10"}`) {
		t.Errorf("no times of requests by route:\n%s", body)
	}
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("what promtool finds: %v %v", problems, err)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Body = 1000 })
	token, _ := x.signIn.New()
	res := x.ask("POST /signin", "pad="+strings.Repeat("x", 2000)+"&token="+token)
	if res.StatusCode == 303 {
		t.Errorf("a body over the limit was read: %s", res.Status)
	}
	if err := x.once.Use(t.Context(), token); err != nil {
		t.Errorf("the token was used up: %v", err)
	}
}

func TestStopEndsOpenStreams(t *testing.T) {
	x := newSite(t, nil)
	cookie := x.owner()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- x.s.Serve(ctx, l) }()
	x.URL = "http://" + l.Addr().String()
	x.ask("GET /live", cookie)
	quiet, err := net.Dial("tcp", l.Addr().String()) // browsers open connections in advance
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	x.ask("GET /healthz") // ensures that the quiet connection was accepted
	stop()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the server did not stop in 5 s")
	}
	if err := <-x.pages.ended; !errors.Is(err, errStopping) {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestClientAddressBehindProxy(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures = 2 })
	for i := range 3 { // the header of a client that is no proxy is ignored
		res := x.ask("GET /ahp?tkn=guess", fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", i))
		if want := []int{403, 403, 429}[i]; res.StatusCode != want {
			t.Errorf("guess %d: %s, want %d", i, res.Status, want)
		}
	}
}

// The worker is the same for everyone, is fetched without a sign-in, and connects only to this server.
func TestServiceWorkerReachesThisServerAlone(t *testing.T) {
	x := newSite(t, nil)
	res := x.ask("GET /service-worker")
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), "/assets/0/img/icon-192.png") {
		t.Errorf("%s: %s, %v", res.Status, body, err)
	}
	h := res.Header
	if h.Get("Content-Security-Policy") != "default-src 'none'; connect-src 'self'" || h.Get("Cache-Control") != "no-cache" ||
		!strings.HasPrefix(h.Get("Content-Type"), "text/javascript") || h.Get("Service-Worker-Allowed") != "" {
		t.Errorf("served with %v", h)
	}
	if csp := x.ask("GET /signin").Header.Get("Content-Security-Policy"); !strings.Contains(csp, "worker-src 'self';") {
		t.Errorf("pages may have workers by %q", csp)
	}
}
