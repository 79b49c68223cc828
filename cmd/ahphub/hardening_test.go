package main

import (
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/machine/join"
)

// The secrets of this host: only their creator may ever see one, once.
const (
	canaryToken  = "canary-of-the-owners-token"
	canarySecret = "canary-of-the-clients-secret"
)

// Every route refuses forms of another site, whatever the browser reports as their origin.
func TestRoutesRefuseForeignForms(t *testing.T) {
	h := harden(t)
	n := 0
	for _, r := range h.routes() {
		if r.method != http.MethodPost && r.method != http.MethodPut && r.method != http.MethodPatch &&
			r.method != http.MethodDelete {
			continue
		}
		n++
		for _, from := range []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site",
			"Sec-Fetch-Site: same-site", "Origin: null"} {
			if res := h.do(r.method, r.path, h.owner, from, "title=evil"); res.StatusCode != 403 {
				t.Errorf("%s %s took a form with %q: %s", r.method, r.pattern, from, res.Status)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d routes take forms: this test looks in the wrong place", n)
	}
	if res := h.do("GET", "/", h.owner); res.StatusCode != 200 || strings.Contains(read(res), "evil") {
		t.Errorf("the refused forms had an effect: %s", res.Status)
	}
}

// Every route refuses host names that are not allowed.
func TestRoutesRefuseUnknownHosts(t *testing.T) {
	h := harden(t)
	for _, r := range h.routes() {
		for _, name := range []string{"evil.example", "localhost.evil.example", "10.11.12.13"} {
			if res := h.do(r.method, r.path, h.owner, "Host: "+name); res.StatusCode != 403 ||
				r.method != http.MethodHead &&
					!strings.Contains(read(res), "Unknown host name") {
				t.Errorf("%s %s as %s: %s", r.method, r.pattern, name, res.Status)
			}
		}
	}
}

// A page of another site cannot open a stream or socket with the visitor's cookie.
func TestRoutesRefuseForeignUpgrades(t *testing.T) {
	h := harden(t)
	upgrade := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	for _, r := range h.routes() {
		if r.method != http.MethodGet {
			continue
		}
		for _, origin := range []string{"Origin: https://evil.example", "Origin: null", "X-No: origin"} {
			res := h.do(r.method, r.path, append([]string{h.owner, origin}, upgrade...)...)
			asks := slices.Contains(access.Routes(), "GET "+r.pattern) || r.pattern == "/ahp"
			if r.pattern == join.Path && origin == "X-No: origin" { // open to machines, which show no cookie and no token
				continue
			}
			if res.StatusCode == 101 || asks && res.StatusCode != 403 {
				t.Errorf("%s with %q: %s", r.pattern, origin, res.Status)
			}
		}
	}
	for _, path := range []string{"/ahp", "/live"} {
		if res := h.do("GET", path, append([]string{h.owner, "Origin: " + h.url},
			upgrade...)...); res.StatusCode == 403 {
			t.Errorf("a page of this server cannot open %s: this test proves nothing", path)
		}
	}
}

var (
	policyOf = map[bool]*regexp.Regexp{
		false: regexp.MustCompile(
			`^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types [a-z ]+$`),
		true: regexp.MustCompile(
			`^default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; .*frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types ahphub-terminal$`),
	}
	worker    = regexp.MustCompile(`^default-src 'none'; connect-src 'self'$`)
	sandboxed = regexp.MustCompile(`^default-src 'none'; style-src 'unsafe-inline'; sandbox$`)
	inline    = regexp.MustCompile(
		`(?is)<script(?:[^>]*\ssrc=)?[^>]*>|\sstyle\s*=\s*["']|\son[a-z]+\s*=\s*["']|javascript:|<style|<base|<object|<embed|http-equiv`)
	localLinks = regexp.MustCompile(`(?:href|src|action|data-live|data-src)="(/[^"#]*)"`)
)

// looksSafe checks the headers of an answer, and that a page contains nothing its policy would
// block.
func (h *hardened) looksSafe(who string, r route, res *http.Response) {
	h.t.Helper()
	got := res.Header
	frame := strings.HasSuffix(r.pattern, "/frame")
	policy := got.Get("Content-Security-Policy")
	isWorker := r.path == "/service-worker" && worker.MatchString(policy)
	if !policyOf[frame].MatchString(policy) && !sandboxed.MatchString(policy) && !isWorker {
		h.t.Errorf("%s %s for %s has the policy %q", r.method, r.path, who, policy)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"X-Frame-Options":              map[bool]string{false: "DENY", true: "SAMEORIGIN"}[frame]} {
		if v := got.Get(name); v != want {
			h.t.Errorf("%s %s for %s: %s is %q", r.method, r.path, who, name, v)
		}
	}
	kind := got.Get("Content-Type")
	if strings.HasPrefix(kind, "image/svg") && !sandboxed.MatchString(policy) &&
		!strings.HasPrefix(r.path, "/assets/") {
		h.t.Errorf("%s serves a drawing that may run scripts", r.path)
	}
	if !strings.HasPrefix(kind, "text/html") {
		return
	}
	for _, m := range inline.FindAllString(read(res), -1) {
		if !strings.HasPrefix(m, "<script") || !strings.Contains(m, ` src="/assets/`) {
			h.t.Errorf("%s %s for %s has %q in it", r.method, r.path, who, m)
		}
	}
}

// Every answer has its policy, for all callers, and pages have nothing inline.
func TestEveryAnswerIsGuarded(t *testing.T) {
	h := harden(t)
	h.settle()
	h.invite(h.shorts()[0])
	for who, cookie := range map[string]string{"the owner": h.owner, "a guest": h.guest, "nobody": "X-No: cookie"} {
		for _, r := range h.routes() {
			if r.method == http.MethodGet || who != "the owner" {
				h.looksSafe(who, r, h.do(r.method, r.path, cookie, "Accept: text/html"))
			}
		}
	}
	seen, queue := map[string]bool{}, []string{"/"}
	for len(queue) > 0 && len(seen) < 200 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] || strings.HasPrefix(path, "/assets/") || strings.HasPrefix(path, "/live") ||
			strings.Contains(path, "/stream") {
			continue
		}
		seen[path] = true
		res := h.do("GET", path, h.owner, "Accept: text/html")
		pattern := path
		if at, _, _ := strings.Cut(path, "?"); strings.HasSuffix(at, "/frame") {
			pattern = at
		}
		h.looksSafe("the owner", route{"GET", pattern, path}, res)
		for _, m := range localLinks.FindAllStringSubmatch(read(res), -1) {
			queue = append(queue, html.UnescapeString(m[1]))
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d pages were found: %v", len(seen), seen)
	}
}

// No secret appears in a page, a log, an error or a file, however it was passed.
func TestSecretsAreNeverShown(t *testing.T) {
	h := harden(t)
	h.invite(h.shorts()[0])
	made := h.do("POST", "/account/tokens", h.owner, "name=editor&expires=never")
	personal := regexp.MustCompile(`ahp_[A-Za-z0-9_-]{30,}`).FindString(read(made))
	if personal == "" {
		t.Fatalf("no token was made: %s", made.Status)
	}
	named, terminal := h.nameSecret(h.shorts()[0])
	oneTime := h.oneTime()
	secrets := []string{canaryToken, canarySecret, h.link, personal, oneTime, named,
		strings.TrimPrefix(h.owner, "Cookie: ahphub="), strings.TrimPrefix(h.guest, "Cookie: ahphub=")}
	leaks := func(where, text string) {
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s has the secret %q", where, s)
			}
		}
	}
	for _, r := range h.routes() {
		if r.method != http.MethodGet {
			continue
		}
		leaks(r.path, read(h.do("GET", r.path, h.owner, "Accept: text/html")))
	}
	// passed in every wrong way
	for _, s := range secrets[:5] {
		q := url.QueryEscape(s)
		for _, path := range []string{"/signin?token=" + q, "/signin?next=/x?token=" + q, "/j?token=" + q,
			"/ahp?tkn=" + q + "x", "/nothing?tkn=" + q, "/signin/oidc/callback?code=" + q + "&state=" + q} {
			res := h.do("GET", path, h.guest, "Accept: text/html", "Authorization: Basic "+s)
			if strings.Contains(path, "next=") {
				continue // the requester's own input is shown in their form
			}
			leaks(path, read(res))
		}
		leaks("a wrong form", read(h.do("POST", "/signin", "token="+q+"x")))
	}
	for _, s := range secrets[:5] { // pasted where no token belongs
		for _, path := range []string{"/j/" + s, "/" + s, "/signin/" + s, "/signin%23" + s, "/s/" + s,
			"/s/" + h.shorts()[0] + "/c/" + s, "/" + s + "/x", "/nothing?" + s, "/?x=" + s} {
			h.do("GET", path, h.owner)
		}
		h.do("POST", "/j/"+s, h.owner, "x=y")
	}
	leaks("the log", h.log.String())
	leaks("a terminal", read(h.do("GET", terminal, h.owner, "Accept: text/html")))
	audit := read(h.do("GET", "/audit.jsonl", h.owner))
	leaks("the audit", audit)
	for _, entry := range []string{"saved a secret: CANARY", "gave secrets to programs: CANARY"} {
		if !strings.Contains(audit, entry) {
			t.Errorf("the audit has no entry %q", entry)
		}
	}
	h.settle()
	h.files(func(path string, mode fs.FileMode, content []byte) {
		if filepath.Base(path) != "cookie.key" {
			leaks(path, string(content))
		}
	})
}

// Everything the program makes in its data directory is accessible only to its user.
func TestDataIsPrivate(t *testing.T) {
	h := harden(t)
	h.settle()
	n := 0
	h.files(func(path string, mode fs.FileMode, _ []byte) {
		n++
		// git's temporary files, in a private directory
		if mode.Perm()&0o077 != 0 && !strings.HasPrefix(filepath.Base(path), "tmp_") {
			t.Errorf("%s has mode %v", path, mode)
		}
	})
	if n < 20 {
		t.Errorf("only %d files: this test looks in the wrong place", n)
	}
}

// A cookie planted in a browser is worthless after the sign-in, and its own account is signed out.
func TestPlantedCookieIsWorthless(t *testing.T) {
	h := harden(t)
	h.invite(h.shorts()[0])
	planted := h.guest // an attacker's own, valid one
	fresh := h.cookie(h.do("POST", "/signin", planted, "token="+h.oneTime()))
	if fresh == planted {
		t.Fatal("signing in kept the id of the cookie")
	}
	if res := h.do("GET", "/people", fresh); res.StatusCode != 200 {
		t.Errorf("the owner, signed in: %s", res.Status)
	}
	if res := h.do("GET", "/people", planted); res.StatusCode != 401 {
		t.Errorf("whoever planted the cookie: %s", res.Status)
	}
	h.do("POST", "/signout", fresh)
	if res := h.do("GET", "/", fresh); res.StatusCode != 401 {
		t.Errorf("a cookie kept after signing out: %s", res.Status)
	}
}

// The owner's token in the query of a socket request opens two addresses and no other, and signs in
// at none.
func TestTokenOpensSocketsAtTwoAddresses(t *testing.T) {
	h := harden(t)
	upgrade := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	open := map[string]bool{}
	for _, r := range h.routes() {
		if r.method != http.MethodGet {
			continue
		}
		res := h.do(r.method, r.path+"?tkn="+canaryToken, upgrade...)
		if res.StatusCode == 101 {
			open[r.pattern] = true
		}
		page := h.do(r.method, r.path+"?tkn="+canaryToken, "Accept: text/html")
		for _, res := range []*http.Response{res, page} {
			signsIn := slices.ContainsFunc(res.Cookies(), func(c *http.Cookie) bool { return c.Value != "" })
			if signsIn || strings.Contains(res.Header.Get("Location"), canaryToken) ||
				strings.Contains(read(res), canaryToken) {
				t.Errorf("%s signed in by an address, or passed the token on: %s %v", r.pattern, res.Status, res.Header)
			}
		}
		if slices.Contains(access.Routes(), "GET "+r.pattern) && page.StatusCode != 303 {
			t.Errorf("%s with a token in its address: %s, want the page that signs in", r.pattern, page.Status)
		}
	}
	delete(open, join.Path) // with any token, and without: machines authenticate inside it
	if len(open) != 2 || !open["/"] || !open["/ahp"] {
		t.Errorf("sockets were opened at %v", open)
	}
	if strings.Contains(h.log.String(), canaryToken) {
		t.Error("the token is in the log")
	}
}
