package main

import (
	"bytes"
	"context"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/telemetry"
)

// The secrets of this host: nobody may ever be shown one, but who made it, once.
const (
	canaryToken  = "canary-of-the-owners-token"
	canarySecret = "canary-of-the-clients-secret"
)

// hardened is a whole program in this process, with a session in every state, and somebody who is signed in.
type hardened struct {
	*app
	t     *testing.T
	url   string
	log   *lockedLog
	owner string // cookie
	guest string
	link  string // the guest's token
}

type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func harden(t *testing.T) *hardened {
	t.Helper()
	data := isolate(t)
	t.Setenv("AHPHUB_TOKEN", canaryToken)
	t.Setenv(secretVariable, canarySecret)
	repo := filepath.Join(t.TempDir(), "greeter")
	if err := sampleRepository(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Listen: "127.0.0.1:0", Data: data, Dir: repo, Agent: script.Provider, OwnerName: "Ana", LogFormat: "text", LogLevel: "debug", demo: true,
		OIDC: oidcConfig{Issuer: "http://127.0.0.1:1", ClientID: "ahphub", Allow: []string{"anyone=viewer"}, Name: "Example"}}
	h := &hardened{t: t, log: &lockedLog{}}
	h.serve(cfg)
	h.owner = h.cookie(h.do("POST", "/signin", "token="+h.oneTime()))
	return h
}

// serve is run, with what tests look into.
func (h *hardened) serve(cfg Config) {
	t := h.t
	t.Helper()
	set, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.New(telemetry.Config{Name: "ahphub", Version: "test"})
	if h.app, err = build(t.Context(), cfg, set, l, newLog(h.log, cfg.LogFormat, cfg.LogLevel, tel.Handler()), tel); err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	out, ended := &lockedLog{}, make(chan error, 1)
	go func() { ended <- h.app.serve(ctx, l, out) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.app.close(); err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(out.String(), "key_file="); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not start: %s", h.log)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (h *hardened) oneTime() string {
	h.t.Helper()
	token, err := h.signIn.New()
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

// do asks once, following nothing; headers as "Name: value", anything else is a form.
func (h *hardened) do(method, path string, more ...string) *http.Response {
	h.t.Helper()
	var body io.Reader
	if i := slices.IndexFunc(more, func(s string) bool { return !strings.Contains(s, ": ") }); i >= 0 {
		body = strings.NewReader(more[i])
		more = slices.Delete(slices.Clone(more), i, i+1)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	h.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, head := range more {
		k, v, _ := strings.Cut(head, ": ")
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Add(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	b := []byte{}
	if res.StatusCode != http.StatusSwitchingProtocols {
		b, _ = io.ReadAll(res.Body)
	}
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(b))
	return res
}

func read(res *http.Response) string {
	b, _ := io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(b))
	return string(b)
}

func (h *hardened) cookie(res *http.Response) string {
	h.t.Helper()
	if len(res.Cookies()) == 0 {
		h.t.Fatalf("no cookie came with %s: %s", res.Status, read(res))
	}
	c := res.Cookies()[0]
	return "Cookie: " + c.Name + "=" + c.Value
}

// shorts are the ids of the sessions that are there.
func (h *hardened) shorts() (all []string) {
	for _, s := range h.host.Summaries(host.Caller{Principal: access.Owner("")}) {
		all = append(all, host.ShortID(s.Resource))
	}
	return all
}

// invite makes a link for a session, and a guest who came by it.
func (h *hardened) invite(short string) {
	h.t.Helper()
	made := h.do("POST", "/s/"+short+"/share", h.owner, "role=commenter&expires=24h")
	_, token, ok := strings.Cut(read(made), "/j#")
	if !ok {
		h.t.Fatalf("no link was made: %s", made.Status)
	}
	h.link, _, _ = strings.Cut(token, `"`)
	h.guest = h.cookie(h.do("POST", "/j", "name=Ben&token="+h.link))
}

type route struct{ method, pattern, path string }

// routes are all of the server, each with a path that a session of this host has.
func (h *hardened) routes() (all []route) {
	h.t.Helper()
	short := h.shorts()[0]
	fill := strings.NewReplacer("{session}", short, "{chat}", "default", "{terminal}", "1", "{file}", "1", "{thread}", "1", "{verb}", "reply", "*", "x")
	named := regexp.MustCompile(`\{[^}]+\}`)
	err := chi.Walk(h.web.Routes(), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		all = append(all, route{method, pattern, named.ReplaceAllString(fill.Replace(pattern), "1")})
		return nil
	})
	if err != nil || len(all) < len(access.Routes())+10 {
		h.t.Fatalf("%d routes: %v", len(all), err)
	}
	return all
}

// Forms of another site are refused at every route that takes any, whatever the browser says of where they come from.
func TestNoRouteTakesFormsOfOtherSites(t *testing.T) {
	h := harden(t)
	n := 0
	for _, r := range h.routes() {
		if r.method != http.MethodPost && r.method != http.MethodPut && r.method != http.MethodPatch && r.method != http.MethodDelete {
			continue
		}
		n++
		for _, from := range []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: null"} {
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

// A name that was not allowed is answered nothing, at any route.
func TestNoRouteAnswersAnotherName(t *testing.T) {
	h := harden(t)
	for _, r := range h.routes() {
		for _, name := range []string{"evil.example", "localhost.evil.example", "10.11.12.13"} {
			if res := h.do(r.method, r.path, h.owner, "Host: "+name); res.StatusCode != 403 || r.method != http.MethodHead && !strings.Contains(read(res), "not served here") {
				t.Errorf("%s %s as %s: %s", r.method, r.pattern, name, res.Status)
			}
		}
	}
}

// A page of another site opens no stream and no socket with the visitor's cookie.
func TestNoRouteUpgradesForOtherSites(t *testing.T) {
	h := harden(t)
	upgrade := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	for _, r := range h.routes() {
		if r.method != http.MethodGet {
			continue
		}
		for _, origin := range []string{"Origin: https://evil.example", "Origin: null", "X-No: origin"} {
			res := h.do(r.method, r.path, append([]string{h.owner, origin}, upgrade...)...)
			asks := slices.Contains(access.Routes(), "GET "+r.pattern) || r.pattern == "/ahp"
			if res.StatusCode == 101 || asks && res.StatusCode != 403 {
				t.Errorf("%s with %q: %s", r.pattern, origin, res.Status)
			}
		}
	}
	for _, path := range []string{"/ahp", "/live"} {
		if res := h.do("GET", path, append([]string{h.owner, "Origin: " + h.url}, upgrade...)...); res.StatusCode == 403 {
			t.Errorf("a page of this server cannot open %s: this test proves nothing", path)
		}
	}
}

var (
	policyOf = map[bool]*regexp.Regexp{
		false: regexp.MustCompile(`^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types [a-z ]+$`),
		true:  regexp.MustCompile(`^default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; .*frame-ancestors 'self'$`),
	}
	sandboxed = regexp.MustCompile(`^default-src 'none'; style-src 'unsafe-inline'; sandbox$`)
	inline    = regexp.MustCompile(`(?is)<script(?:[^>]*\ssrc=)?[^>]*>|\sstyle\s*=\s*["']|\son[a-z]+\s*=\s*["']|javascript:|<style|<base|<object|<embed|http-equiv`)
	local     = regexp.MustCompile(`(?:href|src|action|data-live|data-src)="(/[^"#]*)"`)
)

// looksSafe checks what every answer has to say, and that a page has nothing that the policy would have to stop.
func (h *hardened) looksSafe(who string, r route, res *http.Response) {
	h.t.Helper()
	got := res.Header
	frame := strings.HasSuffix(r.pattern, "/frame")
	policy := got.Get("Content-Security-Policy")
	if !policyOf[frame].MatchString(policy) && !sandboxed.MatchString(policy) {
		h.t.Errorf("%s %s for %s has the policy %q", r.method, r.path, who, policy)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": map[bool]string{false: "DENY", true: "SAMEORIGIN"}[frame]} {
		if v := got.Get(name); v != want {
			h.t.Errorf("%s %s for %s: %s is %q", r.method, r.path, who, name, v)
		}
	}
	kind := got.Get("Content-Type")
	if strings.HasPrefix(kind, "image/svg") && !sandboxed.MatchString(policy) && !strings.HasPrefix(r.path, "/assets/") {
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

// Every answer has its policy, whoever asks, and the pages that people can get to have nothing inline.
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
		if seen[path] || strings.HasPrefix(path, "/assets/") || strings.HasPrefix(path, "/live") || strings.Contains(path, "/stream") {
			continue
		}
		seen[path] = true
		res := h.do("GET", path, h.owner, "Accept: text/html")
		pattern := path
		if at, _, _ := strings.Cut(path, "?"); strings.HasSuffix(at, "/frame") {
			pattern = at
		}
		h.looksSafe("the owner", route{"GET", pattern, path}, res)
		for _, m := range local.FindAllStringSubmatch(read(res), -1) {
			queue = append(queue, html.UnescapeString(m[1]))
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d pages were found: %v", len(seen), seen)
	}
}

// settle waits until the demo's sessions have something to show: one of them asks for an approval.
func (h *hardened) settle() {
	h.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		for _, s := range h.host.Summaries(host.Caller{Principal: access.Owner("")}) {
			if s.Status&ahp.SessionStatusInputNeeded == ahp.SessionStatusInputNeeded {
				return
			}
		}
		if time.Now().After(deadline) {
			h.t.Fatal("no session of the demo waits for anybody")
		}
	}
}

// No secret is in a page, a log, an error or a file, however it was handed over.
func TestSecretsAreShownToNobody(t *testing.T) {
	h := harden(t)
	h.invite(h.shorts()[0])
	made := h.do("POST", "/account/tokens", h.owner, "name=editor&expires=never")
	personal := regexp.MustCompile(`ahp_[A-Za-z0-9_-]{30,}`).FindString(read(made))
	if personal == "" {
		t.Fatalf("no token was made: %s", made.Status)
	}
	oneTime := h.oneTime()
	secrets := []string{canaryToken, canarySecret, h.link, personal, oneTime, strings.TrimPrefix(h.owner, "Cookie: ahphub="), strings.TrimPrefix(h.guest, "Cookie: ahphub=")}
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
	// handed over in every wrong way
	for _, s := range secrets[:5] {
		q := url.QueryEscape(s)
		for _, path := range []string{"/signin?token=" + q, "/signin?next=/x?token=" + q, "/j?token=" + q, "/ahp?tkn=" + q + "x", "/nothing?tkn=" + q, "/signin/oidc/callback?code=" + q + "&state=" + q} {
			res := h.do("GET", path, h.guest, "Accept: text/html", "Authorization: Basic "+s)
			if strings.Contains(path, "next=") {
				continue // what somebody asks for is said back in their own form
			}
			leaks(path, read(res))
		}
		leaks("a wrong form", read(h.do("POST", "/signin", "token="+q+"x")))
	}
	leaks("the log", h.log.String())
	h.files(func(path string, mode fs.FileMode, content []byte) {
		if filepath.Base(path) != "cookie.key" {
			leaks(path, string(content))
		}
	})
}

// Everything the program made in its data directory is its user's alone.
func TestDataIsPrivate(t *testing.T) {
	h := harden(t)
	h.settle()
	n := 0
	h.files(func(path string, mode fs.FileMode, _ []byte) {
		n++
		if mode.Perm()&0o077 != 0 && !strings.HasPrefix(filepath.Base(path), "tmp_") { // git's own while it writes, in a directory that is private
			t.Errorf("%s has mode %v", path, mode)
		}
	})
	if n < 20 {
		t.Errorf("only %d files: this test looks in the wrong place", n)
	}
}

func (h *hardened) files(visit func(path string, mode fs.FileMode, content []byte)) {
	h.t.Helper()
	err := filepath.WalkDir(h.cfg.Data, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // git's own come and go
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var b []byte
		if info.Mode().IsRegular() {
			if b, err = os.ReadFile(path); os.IsNotExist(err) {
				return nil
			}
		}
		visit(path, info.Mode(), b)
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// A cookie that somebody planted in a browser is worth nothing after the sign-in, and its own account is signed out.
func TestAPlantedCookieIsWorthNothing(t *testing.T) {
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
