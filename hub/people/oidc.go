package people

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

const (
	providerTime   = 10 * time.Second // for one answer of a provider
	providerAnswer = 1 << 20          // size limit of an answer
	soonestRetry   = time.Second
	latestRetry    = time.Minute
)

// ErrProviderDown reports that a provider cannot be reached.
var ErrProviderDown = errors.New("the sign-in service does not answer")

// ErrNotBegun refuses an answer to a sign-in that this browser did not start, started too long ago,
// or has already finished.
var ErrNotBegun = errors.New("this sign-in was not started in this browser, took too long, or was used already")

// Refused reports that a provider refuses to identify a person. Reason is for the person, Cause for
// the log.
type Refused struct {
	Reason string
	Cause  error
}

// Error returns the reason and the cause.
func (r *Refused) Error() string {
	if r.Cause != nil {
		return r.Reason + ": " + r.Cause.Error()
	}
	return r.Reason
}

// Unwrap returns the cause.
func (r *Refused) Unwrap() error { return r.Cause }

// OIDCConfig configures a provider of OpenID Connect. Zero fields take the stated default.
type OIDCConfig struct {
	Issuer   string // its address, exactly as the provider writes it
	ClientID string
	Secret   string // "" for a public client, which only uses PKCE

	Scopes      []string // besides openid, profile and email
	GroupsClaim string   // "groups"

	Transport http.RoundTripper // http.DefaultTransport
	Now       func() time.Time  // time.Now
	Log       *slog.Logger
}

// OIDC signs people in through a provider: authorization code with PKCE, and a state and a nonce
// that are valid once, and only in the browser that started. Tokens are neither stored nor logged.
type OIDC struct {
	cfg     OIDCConfig
	http    *http.Client
	finding singleflight.Group
	begun   begunSignIns

	mu    sync.Mutex
	found *provider
	err   error // of the last discovery
}

// provider is a discovered provider.
type provider struct {
	*oidc.Provider
	verifier *oidc.IDTokenVerifier
	style    oauth2.AuthStyle
}

// NewOIDC returns an OIDC without contacting the provider.
func NewOIDC(cfg OIDCConfig) (*OIDC, error) {
	if err := checkIssuer(cfg.Issuer); err != nil {
		return nil, err
	}
	if cfg.ClientID == "" {
		return nil, errors.New("the provider's client ID is missing")
	}
	if cfg.GroupsClaim == "" {
		cfg.GroupsClaim = "groups"
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	o := &OIDC{cfg: cfg, http: &http.Client{Timeout: providerTime, Transport: bounded{cfg.Transport}}}
	o.begun.now = cfg.Now
	return o, nil
}

// checkIssuer prevents sending secrets unencrypted: plain http is only allowed for a provider on
// this machine.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%q is not an issuer. Use its address, as in https://id.example.com", issuer)
	}
	if u.Scheme == "https" || u.Scheme == "http" && IsLocal(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("the issuer %s does not use https. Tokens would be sent unencrypted", issuer)
}

// Run retries discovery until it succeeds or ctx ends.
func (o *OIDC) Run(ctx context.Context) {
	wait := soonestRetry
	for {
		if _, err := o.find(ctx); err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, latestRetry)
	}
}

// Down returns why sign-in currently fails; nil if the provider was discovered, or not tried yet.
func (o *OIDC) Down() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// find returns the provider; if necessary, it discovers it, once for concurrent callers.
func (o *OIDC) find(ctx context.Context) (*provider, error) {
	o.mu.Lock()
	p := o.found
	o.mu.Unlock()
	if p != nil {
		return p, nil
	}
	_, err, _ := o.finding.Do("", func() (any, error) { return nil, o.look(context.WithoutCancel(ctx)) })
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.found, err
}

func (o *OIDC) look(ctx context.Context) error {
	p, err := o.discover(oidc.ClientContext(ctx, o.http))
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		if o.err == nil || o.err.Error() != err.Error() {
			o.cfg.Log.Warn("the OpenID Connect provider cannot be used, trying again", "issuer", o.cfg.Issuer, "err",
				err)
		}
		o.err = fmt.Errorf("%w: %w", ErrProviderDown, err)
		return o.err
	}
	o.found, o.err = p, nil
	o.cfg.Log.Info("the OpenID Connect provider was found", "issuer", o.cfg.Issuer)
	return nil
}

func (o *OIDC) discover(ctx context.Context) (*provider, error) {
	p, err := oidc.NewProvider(ctx, o.cfg.Issuer)
	if err != nil {
		return nil, err
	}
	var says struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		PKCE    []string `json:"code_challenge_methods_supported"`
	}
	if err := p.Claims(&says); err != nil {
		return nil, err
	}
	if len(says.PKCE) > 0 && !slices.Contains(says.PKCE, "S256") {
		return nil, errors.New("it offers no PKCE with S256")
	}
	style := oauth2.AuthStyleInParams
	if o.cfg.Secret != "" && (len(says.Methods) == 0 || slices.Contains(says.Methods, "client_secret_basic")) {
		style = oauth2.AuthStyleInHeader
	}
	return &provider{p, p.Verifier(&oidc.Config{ClientID: o.cfg.ClientID, Now: o.cfg.Now}), style}, nil
}

func (o *OIDC) client(p *provider, redirect string) *oauth2.Config {
	at := p.Endpoint()
	at.AuthStyle = p.style
	return &oauth2.Config{ClientID: o.cfg.ClientID, ClientSecret: o.cfg.Secret, Endpoint: at, RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID, "profile", "email"}, o.cfg.Scopes...)}
}

// Begin returns the provider's address for the browser, and a secret for a cookie of that browser,
// without which Finish refuses the answer. The answer is sent to redirect; Finish returns next.
func (o *OIDC) Begin(ctx context.Context, redirect, next string) (address, browser string, err error) {
	p, err := o.find(ctx)
	if err != nil {
		return "", "", err
	}
	state, browser := newID(), newID()
	b := begun{browser: rowKey(browser), nonce: newID(), verifier: oauth2.GenerateVerifier(), redirect: redirect,
		next: next}
	o.begun.add(state, b)
	return o.client(p, redirect).AuthCodeURL(state, oidc.Nonce(b.nonce), oauth2.S256ChallengeOption(b.verifier)),
		browser, nil
}

// BegunLife is how long a person may take at the provider.
const BegunLife = begunLife

// Finish verifies the answer that a browser returned, with the secret of its cookie, and returns
// the person's claims. Each state is valid once, even if Finish fails.
func (o *OIDC) Finish(ctx context.Context, browser string, answer url.Values) (who Claims, next string, err error) {
	b, ok := o.begun.take(answer.Get("state"))
	if !ok || subtle.ConstantTimeCompare([]byte(b.browser), []byte(rowKey(browser))) != 1 {
		return Claims{}, "", ErrNotBegun
	}
	if iss := answer.Get("iss"); iss != "" && iss != o.cfg.Issuer {
		return Claims{}, b.next, &Refused{Reason: "its answer is from another service"}
	}
	if code := answer.Get("error"); code != "" {
		return Claims{}, b.next, &Refused{Reason: said(code, answer.Get("error_description"))}
	}
	p, err := o.find(ctx)
	if err != nil {
		return Claims{}, b.next, err
	}
	who, err = o.exchange(oidc.ClientContext(ctx, o.http), p, b, answer.Get("code"))
	return who, b.next, err
}

// exchange exchanges the code for an ID token, and reads missing claims from the userinfo endpoint.
func (o *OIDC) exchange(ctx context.Context, p *provider, b begun, code string) (Claims, error) {
	token, err := o.client(p, b.redirect).Exchange(ctx, code, oauth2.VerifierOption(b.verifier))
	if err != nil {
		return Claims{}, exchangeError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return Claims{}, &Refused{"its answer is not valid", err}
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.nonce)) != 1 {
		return Claims{}, &Refused{Reason: "its answer is for another sign-in"}
	}
	c := Claims{Issuer: o.cfg.Issuer, Subject: id.Subject}
	if id.Subject == "" {
		return Claims{}, &Refused{Reason: "its answer names no account"}
	}
	if err := o.read(&c, id.Claims); err != nil {
		return Claims{}, err
	}
	if (c.Email == "" || c.Groups == nil) && p.UserInfoEndpoint() != "" {
		err = o.ask(ctx, p, token, &c)
	}
	return c, err
}

// ask reads the userinfo endpoint, whose subject must be the same.
func (o *OIDC) ask(ctx context.Context, p *provider, token *oauth2.Token, c *Claims) error {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		o.cfg.Log.WarnContext(ctx, "cannot read the provider's userinfo; using the ID token only", "issuer",
			o.cfg.Issuer)
		return nil
	}
	if info.Subject != c.Subject {
		return &Refused{Reason: "its userinfo is about another account"}
	}
	return o.read(c, info.Claims)
}

// exchangeError omits the provider's answer except its code, because it may contain secrets.
func exchangeError(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", ErrProviderDown, err)
	}
	if refused.Response != nil && refused.Response.StatusCode >= 500 {
		return fmt.Errorf("%w: it says %d", ErrProviderDown, refused.Response.StatusCode)
	}
	return &Refused{Reason: said(refused.ErrorCode, refused.ErrorDescription)}
}

// bounded limits the size of answers.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, providerAnswer), res.Body}
	}
	return res, err
}
