package people

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const clientSecret = "the client's own secret"

// fakeProvider answers like a provider, or as modified by change.
type fakeProvider struct {
	*httptest.Server
	t    *testing.T
	key  atomic.Pointer[ecdsa.PrivateKey]
	keys atomic.Int64 // number of keys so far
	down atomic.Bool

	challenge string                      // of the current sign-in
	claims    map[string]any              // of the ID token
	info      map[string]any              // of the userinfo
	sign      func(payload []byte) string // nil: by key
	answers   int                         // of the token endpoint
}

func newFakeProvider(t *testing.T) *fakeProvider {
	f := &fakeProvider{t: t}
	f.rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", f.discovery)
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: f.key.Load().Public(),
			KeyID: f.keyID(), Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("/token", f.token)
	mux.HandleFunc("/info", func(w http.ResponseWriter, _ *http.Request) { answer(w, f.info) })
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fakeProvider) rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	f.key.Store(key)
	f.keys.Add(1)
}

func (f *fakeProvider) keyID() string {
	return fmt.Sprint("key ", f.keys.Load())
}

func (f *fakeProvider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"issuer": f.URL, "authorization_endpoint": f.URL + "/auth", "token_endpoint": f.URL +
		"/token", "jwks_uri": f.URL + "/keys", "userinfo_endpoint": f.URL + "/info",
		"id_token_signing_alg_values_supported": []string{"ES256"}})
}

// token checks the client and its proof of the code, according to RFC 7636.
func (f *fakeProvider) token(w http.ResponseWriter, r *http.Request) {
	f.answers++
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	if name, _ := url.QueryUnescape(secret); id != "ahphub" || name != clientSecret ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != f.challenge {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	payload, err := json.Marshal(f.claims)
	if err != nil {
		f.t.Error(err)
	}
	sign := f.sign
	if sign == nil {
		sign = f.signed
	}
	answer(w, map[string]any{"access_token": "canary-access", "token_type": "Bearer", "expires_in": 60,
		"id_token": sign(payload)})
}

func (f *fakeProvider) signed(payload []byte) string {
	return f.signedBy(jose.ES256, jose.JSONWebKey{Key: f.key.Load(), KeyID: f.keyID()}, payload)
}

func (f *fakeProvider) signedBy(alg jose.SignatureAlgorithm, key any, payload []byte) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		f.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// begin starts a sign-in and makes the provider answer it correctly.
func (f *fakeProvider) begin(o *OIDC) (browser, state string) {
	f.t.Helper()
	address, browser, err := o.Begin(f.t.Context(), "https://hub.example.com/back", "/s/x")
	if err != nil {
		f.t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		f.t.Fatal(err)
	}
	q := u.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" ||
		q.Get("redirect_uri") != "https://hub.example.com/back" {
		f.t.Fatalf("people are sent to %s", address)
	}
	f.challenge = q.Get("code_challenge")
	f.claims = map[string]any{"iss": f.URL, "aud": "ahphub", "sub": "17", "nonce": q.Get("nonce"),
		"exp": time.Now().Add(time.Hour).Unix(),
		"iat": time.Now().Unix(), "name": "Ana", "email": "ana@example.com", "email_verified": true,
		"groups": []string{"devs"}}
	f.info = map[string]any{"sub": "17"}
	f.sign = nil
	return browser, q.Get("state")
}

func (f *fakeProvider) client(log *bytes.Buffer) *OIDC {
	f.t.Helper()
	o, err := NewOIDC(OIDCConfig{Issuer: f.URL, ClientID: "ahphub", Secret: clientSecret,
		Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func back(state string) url.Values { return url.Values{"state": {state}, "code": {"canary-code"}} }

func TestOIDC(t *testing.T) {
	f := newFakeProvider(t)
	var log bytes.Buffer
	o := f.client(&log)
	browser, state := f.begin(o)
	who, next, err := o.Finish(t.Context(), browser, back(state))
	want := Claims{Issuer: f.URL, Subject: "17", Name: "Ana", Email: "ana@example.com", Verified: true,
		Groups: []string{"devs"}}
	if err != nil || fmt.Sprint(who) != fmt.Sprint(want) || next != "/s/x" {
		t.Fatalf("%+v to %q: %v", who, next, err)
	}
	before := f.answers
	if _, _, err := o.Finish(t.Context(), browser, back(state)); !errors.Is(err, ErrNotBegun) || f.answers != before {
		t.Errorf("an answer counts twice: %v", err)
	}
	f.rotate()
	// go-oidc returns keys shortly before it forgets the request for them; until then, it does not
	// request newer ones.
	for until := time.Now().Add(5 * time.Second); ; {
		browser, state = f.begin(o)
		_, _, err := o.Finish(t.Context(), browser, back(state))
		if err == nil {
			break
		}
		if time.Now().After(until) {
			t.Errorf("after the provider changed its key: %v", err)
			break
		}
	}
	for _, secret := range []string{"canary", clientSecret, state, browser} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, &log)
		}
	}
}

// Every invalid answer is refused.
func TestOIDCRefuses(t *testing.T) {
	f := newFakeProvider(t)
	o := f.client(&bytes.Buffer{})
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set := func(claim string, v any) func(*string, *url.Values) {
		return func(*string, *url.Values) { f.claims[claim] = v }
	}
	for name, change := range map[string]func(browser *string, answer *url.Values){
		"another browser":           func(b *string, _ *url.Values) { *b = newID() },
		"no cookie":                 func(b *string, _ *url.Values) { *b = "" },
		"another state":             func(_ *string, a *url.Values) { a.Set("state", newID()) },
		"no state":                  func(_ *string, a *url.Values) { a.Del("state") },
		"another issuer's answer":   func(_ *string, a *url.Values) { a.Set("iss", "https://evil.example") },
		"the provider's refusal":    func(_ *string, a *url.Values) { a.Set("error", "access_denied") },
		"a nonce of another":        set("nonce", "x"),
		"no nonce":                  set("nonce", nil),
		"for another client":        set("aud", "else"),
		"of another issuer":         set("iss", "https://evil.example"),
		"expired":                   set("exp", time.Now().Add(-time.Minute).Unix()),
		"nobody":                    set("sub", ""),
		"another proof of the code": func(*string, *url.Values) { f.challenge = "x" },
		"signed by nobody": func(*string, *url.Values) {
			f.sign = func(p []byte) string {
				enc := base64.RawURLEncoding.EncodeToString
				return enc([]byte(`{"alg":"none"}`)) + "." + enc(p) + "."
			}
		},
		"signed by the client's secret": func(*string, *url.Values) {
			f.sign = func(p []byte) string { return f.signedBy(jose.HS256, bytes.Repeat([]byte(clientSecret), 2), p) }
		},
		"signed by another": func(*string, *url.Values) {
			f.sign = func(p []byte) string {
				return f.signedBy(jose.ES256, jose.JSONWebKey{Key: other,
					KeyID: f.keyID()}, p)
			}
		},
		"no ID token": func(*string, *url.Values) { f.sign = func([]byte) string { return "" } },
		"a page about somebody else": func(*string, *url.Values) {
			delete(f.claims, "email")
			f.info = map[string]any{"sub": "18", "email": "owner@example.com", "email_verified": true}
		},
	} {
		browser, state := f.begin(o)
		answer := back(state)
		change(&browser, &answer)
		if who, _, err := o.Finish(t.Context(), browser, answer); err == nil || who.Subject != "" && who.Email != "" {
			t.Errorf("%s: %+v %v", name, who, err)
		}
	}
}

func TestOIDCTakesLong(t *testing.T) {
	f := newFakeProvider(t)
	now := time.Now()
	o, err := NewOIDC(OIDCConfig{Issuer: f.URL, ClientID: "ahphub", Secret: clientSecret,
		Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	browser, state := f.begin(o)
	now = now.Add(begunLife + time.Second)
	if _, _, err := o.Finish(t.Context(), browser, back(state)); !errors.Is(err, ErrNotBegun) {
		t.Errorf("an answer after %v: %v", begunLife, err)
	}
	for range mostBegun + 10 {
		f.begin(o)
	}
	if n := len(o.begun.by); n > mostBegun {
		t.Errorf("%d sign-ins are kept", n)
	}
}

// A provider that is down at first is discovered later, and claims missing in the ID token are read
// from the userinfo.
func TestOIDCProviderDown(t *testing.T) {
	f := newFakeProvider(t)
	f.down.Store(true)
	var log bytes.Buffer
	o := f.client(&log)
	if _, _, err := o.Begin(t.Context(), "https://hub.example.com/back", "/"); !errors.Is(err, ErrProviderDown) ||
		o.Down() == nil {
		t.Fatalf("the provider is down: %v, %v", err, o.Down())
	}
	f.down.Store(false)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	o.Run(ctx)
	if o.Down() != nil {
		t.Fatal(o.Down())
	}
	browser, state := f.begin(o)
	maps.DeleteFunc(f.claims, func(k string, _ any) bool {
		return k == "email" || k == "email_verified" ||
			k == "groups"
	})
	f.info = map[string]any{"sub": "17", "email": "ana@example.com", "email_verified": "true",
		"groups": map[string]any{"devs": 1}}
	who, _, err := o.Finish(t.Context(), browser, back(state))
	if err != nil || who.Email != "ana@example.com" || !who.Verified || len(who.Groups) != 1 ||
		who.Groups[0] != "devs" {
		t.Errorf("from the page about the person: %+v, %v", who, err)
	}
}

func TestIssuer(t *testing.T) {
	for issuer, good := range map[string]bool{"https://id.example.com": true, "https://id.example.com/realms/x": true,
		"http://127.0.0.1:5556/dex": true, "http://localhost:9998/": true, "http://id.example.com": false,
		"id.example.com": false, "https://id.example.com?x=y": false, "https://a:b@id.example.com": false, "": false} {
		if _, err := NewOIDC(OIDCConfig{Issuer: issuer, ClientID: "x"}); (err == nil) != good {
			t.Errorf("%q: %v", issuer, err)
		}
	}
}

func TestRules(t *testing.T) {
	var rules []Rule
	for _, text := range []string{"email:Ana@Example.com=owner", "subject:42=viewer", "group:devs=driver+prompt",
		"domain:example.com=commenter"} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rules = append(rules, r)
	}
	for _, test := range []struct {
		who  Claims
		role string
	}{
		{Claims{Email: "ana@example.com", Verified: true}, "owner"},
		{Claims{Email: "ana@example.com"}, ""}, // anyone can claim it
		{Claims{Email: "ben@EXAMPLE.com", Verified: true}, "commenter"},
		{Claims{Email: "ben@example.com"}, ""},
		{Claims{Email: "ben@example.com.evil.example", Verified: true}, ""},
		{Claims{Email: "ben@evilexample.com", Verified: true}, ""},
		{Claims{Email: `"x@example.com"@evil.example`, Verified: true}, ""},
		{Claims{Email: "ben@sub.example.com", Verified: true}, ""},
		{Claims{Groups: []string{"devs"}}, "driver+prompt"},
		{Claims{Groups: []string{"Devs"}}, ""},
		{Claims{Subject: "42", Email: "ben@example.com", Verified: true}, "viewer"},
		{Claims{}, ""},
	} {
		if got := Role(rules, test.who); got != test.role {
			t.Errorf("%+v: %q, want %q", test.who, got, test.role)
		}
	}
	for _, text := range []string{"", "ana@example.com", "email:ana=owner", "domain:=viewer",
		"domain:*.example.com=viewer", "anyone:x=viewer", "tenant:x=viewer", "group:devs", "group:devs="} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q is a rule: %+v", text, r)
		}
	}
}

// The identity depends only on issuer and subject, not on anything a person can choose or change.
func TestIdentities(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	all := Identities{Store: &memory{docs: map[string][]byte{}}, Now: func() time.Time { return now }}
	save := func(c Claims) Identity {
		t.Helper()
		kept, err := all.Save(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	ana := save(Claims{Issuer: "https://id.example.com", Subject: "17", Email: "ana@example.com", Verified: true})
	now = now.Add(time.Hour)
	again := save(Claims{Issuer: "https://id.example.com", Subject: "17", Email: "ana@elsewhere.example",
		Name: "Ana B."})
	if again.ID != ana.ID || !again.First.Equal(ana.First) || !IsIdentity(ana.ID) {
		t.Errorf("a second sign-in: %+v after %+v", again, ana)
	}
	for _, c := range []Claims{{Issuer: "https://id.example.com", Subject: "18", Email: "ana@example.com",
		Verified: true},
		{Issuer: "https://other.example", Subject: "17", Email: "ana@example.com", Verified: true},
		{Issuer: "https://id.example.com1", Subject: "7"}, {Issuer: "https://id.example.co", Subject: "m17"}} {
		if save(c).ID == ana.ID {
			t.Errorf("%+v is taken for somebody else", c)
		}
	}
	now = now.Add(identityFresh - time.Minute)
	if kept, ok, err := all.Get(t.Context(), ana.ID); !ok || err != nil || kept.Name != "Ana B." {
		t.Errorf("before the provider's word is old: %+v %v %v", kept, ok, err)
	}
	now = now.Add(2 * time.Minute)
	if _, ok, err := all.Get(t.Context(), ana.ID); ok || err != nil {
		t.Errorf("a word that is too old counts: %v", err)
	}
}

func FuzzClaims(f *testing.F) {
	f.Add([]byte(`{"email":"a@b","email_verified":"true","groups":["x"]}`))
	f.Add([]byte(`{"email":7,"groups":{"x":{}},"name":["x"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		o := &OIDC{cfg: OIDCConfig{GroupsClaim: "groups"}}
		var c Claims
		_ = o.read(&c, func(v any) error { return json.Unmarshal(b, v) })
		if len(c.Groups) > mostGroups || len([]rune(c.Name)) > longestSaid || len([]rune(c.Email)) > longestSaid {
			t.Errorf("%+v", c)
		}
	})
}

func FuzzParseRule(f *testing.F) {
	f.Add("domain:example.com=commenter")
	f.Add("email:a=b@c=owner")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRule(text); err == nil && (r.Role == "" || r.lets(Claims{}) != (r.Kind == "anyone")) {
			t.Errorf("%q is %+v", text, r)
		}
	})
}
