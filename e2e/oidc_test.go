package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

const oidcSecret = "the client's secret"

// knownPeople writes the provider's users by id; all have the same password.
func knownPeople(t *testing.T) string {
	t.Helper()
	type user struct {
		ID, Username, Password, FirstName, LastName, Email string
		EmailVerified                                      bool
		Groups                                             []string
	}
	all := map[string]user{}
	for _, u := range []user{
		{ID: "1", Username: "ana", FirstName: "Ana", LastName: "Lima", Email: "ana@example.com", EmailVerified: true},
		{ID: "2", Username: "ben", FirstName: "Ben", LastName: "Okoro", Email: "ben@elsewhere.example",
			EmailVerified: true, Groups: []string{"reviewers"}},
		{ID: "3", Username: "eve", FirstName: "Eve", LastName: "Moss", Email: "eve@elsewhere.example",
			EmailVerified: true},
		{ID: "4", Username: "mal", FirstName: "Ana", LastName: "Lima", Email: "ana@example.com"}, // claims to be Ana
	} {
		u.Password = "verysecure"
		all[u.ID] = u
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "people.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startWithProvider starts an OpenID Connect provider and the program that people sign in to with
// it.
func startWithProvider(t *testing.T, more ...string) (prog *Program, issuer string, provider *log) {
	t.Helper()
	at := loopbacktest.Address(t)
	issuer, provider = runServer(t, "http://", "./oidc", nil, "-users", knownPeople(t), "-redirect", "http://"+at+
		"/signin/oidc/callback")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(oidcSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--listen", at, "--agent", "script", "--oidc-issuer", issuer, "--oidc-client-id", "ahphub",
		"--oidc-client-secret-file", secret, "--oidc-name", "Example", "--oidc-allow", "email:ana@example.com=owner",
		"--oidc-allow", "group:reviewers=commenter"}, more...)
	return Start(t, Options{Args: args}), issuer, provider
}

// signInAt completes the provider's page.
func (p *Page) signInAt(prog *Program, name string) {
	p.t.Helper()
	p.Open(prog.URL + "/signin")
	p.Click(`form[action="/signin/oidc"] .btn`)
	p.Wait(`location.pathname === '/login/username' && document.readyState === 'complete'`)
	p.Fill("#username", name)
	p.Fill("#password", "verysecure")
	p.Click("button[type=submit]")
	p.Wait(`location.port === ` + fmt.Sprintf("%q", portOf(p.t, prog.URL)) + ` && document.readyState === 'complete'`)
}

func portOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

// People sign in with a real provider and get the roles of the rules; others are refused.
func TestSignInByAProvider(t *testing.T) {
	t.Parallel()
	prog, _, _ := startWithProvider(t)
	browser := OpenBrowser(t)

	ana := browser.Page()
	ana.Allow("favicon") // the provider has none
	ana.Open(prog.URL + "/signin")
	ana.Shot("signin")
	ana.signInAt(prog, "ana")
	ana.Wait(`location.pathname === '/'`)
	first := whoAmI(t, ana, prog)
	ana.Open(prog.URL + "/audit")
	ana.WaitText("main", "Ana Lima")

	ben := browser.Page()
	ben.Allow("favicon|403")
	ben.signInAt(prog, "ben") // by a group, despite another domain
	if to := Eval[string](ben, "location.pathname"); to != "/" {
		t.Fatalf("Ben came to %s", to)
	}
	ben.Open(prog.URL + "/audit")
	ben.WaitText("main", "nly the owner")

	for name, text := range map[string]string{"eve": "knows you as eve@elsewhere.example",
		"mal": "which it has not verified"} {
		page := browser.Page()
		page.Allow("favicon|403")
		page.signInAt(prog, name)
		page.WaitText("[role=alert]", text)
		page.Shot("refused-" + name)
		if page.Open(prog.URL + "/"); Eval[string](page, "location.pathname") != "/signin" {
			t.Errorf("%s is in", name)
		}
	}

	again := browser.Page() // after Ben, so that the last sign-in is Ana's only if this works
	again.Allow("favicon")
	again.signInAt(prog, "ana")
	if second := whoAmI(t, again, prog); second != first || first == "" {
		t.Errorf("the second sign-in is %q, the first was %q", second, first)
	}
	again.Open(prog.URL + "/people")
	Eval[bool](again, `document.body.classList.add('old'), true`)
	again.Click(`form[action="/people/signout"] .btn`)
	again.Wait(`document.body && !document.body.classList.contains('old') && document.readyState === 'complete'`)
	if ana.Open(prog.URL + "/"); Eval[string](ana, "location.pathname") != "/signin" {
		t.Error("signing out everywhere else left the other browser in")
	}
	for _, secret := range []string{oidcSecret, "id_token", "access_token"} {
		if strings.Contains(prog.Log(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	if codes := regexp.MustCompile(`(code|state)=[^%&"]+`).FindAllString(prog.Log(), -1); codes != nil {
		t.Errorf("the log has %v", codes)
	}
}

// whoAmI returns the principal of the newest provider sign-in in the audit, as an owner sees it.
func whoAmI(t *testing.T, p *Page, prog *Program) (who string) {
	t.Helper()
	p.Open(prog.URL + "/audit")
	for line := range strings.Lines(Eval[string](p,
		`(() => { const r = new XMLHttpRequest(); r.open('GET', '/audit.jsonl', false); r.send(); return r.responseText })()`)) {
		var e struct{ Who, What string }
		if json.Unmarshal([]byte(line), &e) == nil && e.What == "signed in by Example" {
			who = e.Who
		}
	}
	return who
}

// A provider's answer is valid once, and only in the browser that started; an attacker's answer
// signs no one else in.
func TestProviderAnswersCountOnce(t *testing.T) {
	t.Parallel()
	prog, _, _ := startWithProvider(t)
	victim, attacker := visitor(t), visitor(t)
	answer := attacker.throughProvider(t, prog, "eve")
	if code, _ := victim.visit(t, answer); code != 403 {
		t.Errorf("another's answer without a sign-in of one's own: %d", code)
	}
	victim.throughProvider(t, prog, "ana")
	if code, _ := victim.visit(t, answer); code != 403 {
		t.Errorf("another's answer in place of one's own: %d", code)
	}
	own := victim.throughProvider(t, prog, "ana")
	u, _ := url.Parse(own)
	q := u.Query()
	q.Set("state", "x"+q.Get("state"))
	if code, _ := victim.visit(t, prog.URL+"/signin/oidc/callback?"+q.Encode()); code != 403 {
		t.Errorf("a state that was changed: %d", code)
	}
	own = victim.throughProvider(t, prog, "ana")
	before := victim.cookie(prog)
	if code, to := victim.visit(t, own); code != 303 || to != "/" || victim.cookie(prog) == before {
		t.Fatalf("one's own answer: %d to %s", code, to)
	}
	if code := status(t, victim.Client, prog.URL+"/people"); code != 200 {
		t.Errorf("Ana, an owner, at an owner's page: %d", code)
	}
	victim.speaksAsPerson(t, prog)
	kept := victim.cookie(prog)
	if code, _ := victim.visit(t, own); code != 403 || victim.cookie(prog) != kept {
		t.Errorf("the same answer again: %d", code)
	}
}

// speaksAsPerson creates a token as a person of the provider, and uses the protocol with it.
func (b browserless) speaksAsPerson(t *testing.T, prog *Program) {
	t.Helper()
	res, err := b.PostForm(prog.URL+"/account/tokens", url.Values{"name": {"editor"}, "expires": {"168h"}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	token := regexp.MustCompile(`ahp_[A-Za-z0-9_-]{30,}`).Find(body)
	if token == nil {
		t.Fatalf("no token was made: %s", res.Status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	newOverProtocol(t, ctx, dial(t, ctx, prog, string(token)))
}

// The host starts while a provider is down, and the button works once it is up.
func TestProviderIsDownAtFirst(t *testing.T) {
	t.Parallel()
	at, idp := loopbacktest.Address(t), loopbacktest.Address(t)
	prog := Start(t, Options{Env: []string{"AHPHUB_OIDC_CLIENT_SECRET=" + oidcSecret}, Args: []string{"--listen", at,
		"--oidc-issuer", "http://" + idp, "--oidc-client-id", "ahphub", "--oidc-name", "Example", "--oidc-allow",
		"anyone=viewer"}})
	page := OpenBrowser(t).Page()
	page.Allow("favicon|503")
	page.Open(prog.URL + "/signin")
	page.Click(`form[action="/signin/oidc"] .btn`)
	page.WaitText("[role=alert]", "Example isn't responding")
	page.WaitText("main", "You can try again")
	page.Shot("down")
	runServer(t, "http://", "./oidc", nil, "-listen", idp, "-users", knownPeople(t), "-redirect", prog.URL+
		"/signin/oidc/callback")
	page.signInAt(prog, "eve")
	page.Wait(`location.pathname === '/'`)
}

// browserless is a visitor with cookies who does not follow redirects.
type browserless struct{ *http.Client }

func visitor(t *testing.T) browserless {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browserless{&http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

func (b browserless) visit(t *testing.T, address string) (code int, to string) {
	t.Helper()
	res, err := b.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode, res.Header.Get("Location")
}

func (b browserless) cookie(prog *Program) string {
	u, _ := url.Parse(prog.URL)
	for _, c := range b.Jar.Cookies(u) {
		if c.Name == "ahphub" {
			return c.Value
		}
	}
	return ""
}

var loginID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// throughProvider starts a sign-in and returns the address that the provider redirects to,
// unvisited.
func (b browserless) throughProvider(t *testing.T, prog *Program, name string) string {
	t.Helper()
	res, err := b.PostForm(prog.URL+"/signin/oidc", nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	_, to, _ := strings.Cut(res.Header.Get("Refresh"), "url=")
	issuer, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	_, to = b.visit(t, to)
	at, err := issuer.Parse(to)
	if err != nil || to == "" {
		t.Fatalf("the provider sends people to %q: %v", to, err)
	}
	form, err := b.Get(at.String())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(form.Body)
	form.Body.Close()
	id := loginID.FindSubmatch(body)
	if err != nil || id == nil {
		t.Fatalf("the provider's page: %v\n%s", err, body)
	}
	res, err = b.PostForm(at.Scheme+"://"+at.Host+"/login/username", url.Values{"id": {string(id[1])},
		"username": {name}, "password": {"verysecure"}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	next, err := at.Parse(res.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	_, back := b.visit(t, next.String())
	if !strings.HasPrefix(back, prog.URL+"/signin/oidc/callback?") {
		t.Fatalf("the provider sends people back to %q", back)
	}
	return back
}
