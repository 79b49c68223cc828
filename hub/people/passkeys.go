package people

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/ahphub/ahphub/hub/texts"
)

const (
	passkeyBucket = "passkey"
	handleBucket  = "passkey-handle"
	mostPasskeys  = 20
	mostPending   = 200             // started ceremonies that are not finished
	pendingLife   = 5 * time.Minute // time to finish one
	longestKey    = 60
)

// ErrNoPasskey refuses an authenticator's answer.
var ErrNoPasskey = errors.New("passkey not accepted: it isn't registered on this server, or the request timed out")

// ErrNoName reports that an address cannot have passkeys: they belong to host names.
var ErrNoName = errors.New(
	"passkeys need a hostname. Open ahphub at one, as in http://localhost or https://hub.example.com, not at an IP " +
		"address")

// Passkey is a passkey that signs an account in.
type Passkey struct {
	Key     string    `json:"-"` // identifies it to Remove
	Account string    `json:"account"`
	Name    string    `json:"name"`
	Host    string    `json:"host"` // host name it belongs to
	Created time.Time `json:"created"`
	Used    time.Time `json:"used,omitzero"` // last use

	Credential webauthn.Credential `json:"credential"`
}

// Passkeys signs accounts in by WebAuthn. A ceremony starts with a challenge, which is kept in
// memory and valid once for five minutes, and ends with the authenticator's answer.
type Passkeys struct {
	Store Store
	Now   func() time.Time // default time.Now

	writing sync.Mutex // held from reading a passkey to writing it

	mu      sync.Mutex
	pending map[string]pendingPasskey // by challenge
}

type pendingPasskey struct {
	webauthn.SessionData
	origin  string
	account string // account to make a passkey for; "" for signing in
	until   time.Time
}

// user implements webauthn.User for an account.
type user struct {
	handle []byte
	name   string
	keys   []webauthn.Credential
}

func (u *user) WebAuthnID() []byte                         { return u.handle }
func (u *user) WebAuthnName() string                       { return u.name }
func (u *user) WebAuthnDisplayName() string                { return u.name }
func (u *user) WebAuthnCredentials() []webauthn.Credential { return u.keys }

// at returns the library's instance for the origin of a page, as in "https://hub.example.com".
func at(origin string) (*webauthn.WebAuthn, error) {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" || net.ParseIP(u.Hostname()) != nil {
		return nil, ErrNoName
	}
	return webauthn.New(&webauthn.Config{RPID: u.Hostname(), RPDisplayName: "ahphub", RPOrigins: []string{origin}})
}

// Origin returns the origin that the browser sees: the public address if the request's host matches
// it, because a proxy may serve it over https, and otherwise the requested one.
func Origin(r *http.Request, public string) string {
	if u, err := url.Parse(public); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return u.Scheme + "://" + u.Host
	}
	if Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// PasskeysAt reports whether pages opened at an origin can have passkeys.
func PasskeysAt(origin string) bool { _, err := at(origin); return err == nil }

// List returns an account's passkeys, oldest first.
func (p *Passkeys) List(ctx context.Context, account string) ([]Passkey, error) {
	var out []Passkey
	err := p.Store.Each(ctx, passkeyBucket, func(key string, b []byte) error {
		var k Passkey
		if err := json.Unmarshal(b, &k); err != nil {
			return fmt.Errorf("passkey %s cannot be read: %w", key, err)
		}
		if k.Key = key; k.Account == account {
			out = append(out, k)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Passkey) int {
		return cmp.Or(a.Created.Compare(b.Created),
			cmp.Compare(a.Key, b.Key))
	})
	return out, err
}

// ErrPasskeyGone reports that the account has no such passkey.
var ErrPasskeyGone = errors.New("passkey not found. It may have been removed already")

// Remove deletes a passkey of an account, or returns ErrPasskeyGone.
func (p *Passkeys) Remove(ctx context.Context, account, key string) (removed Passkey, err error) {
	list, err := p.List(ctx, account)
	if err != nil {
		return Passkey{}, err
	}
	i := slices.IndexFunc(list, func(k Passkey) bool { return k.Key == key })
	if i < 0 {
		return Passkey{}, ErrPasskeyGone
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	return list[i], p.Store.Delete(ctx, passkeyBucket, key)
}

// RemoveAll deletes all passkeys of an account.
func (p *Passkeys) RemoveAll(ctx context.Context, account string) error {
	list, err := p.List(ctx, account)
	for _, k := range list {
		err = errors.Join(err, p.Store.Delete(ctx, passkeyBucket, k.Key))
	}
	return errors.Join(err, p.Store.Delete(ctx, handleBucket, account))
}

// user returns an account; its handle is random, so that two servers with the same host name do not
// conflict.
func (p *Passkeys) user(ctx context.Context, account, name string) (*user, error) {
	handle, found, err := p.Store.Get(ctx, handleBucket, account)
	if err == nil && !found {
		handle = make([]byte, 32)
		rand.Read(handle)
		err = p.Store.Put(ctx, handleBucket, account, handle)
	}
	if err != nil {
		return nil, err
	}
	list, err := p.List(ctx, account)
	u := &user{handle: handle, name: name}
	for _, k := range list {
		u.keys = append(u.keys, k.Credential)
	}
	return u, err
}

// BeginMaking returns the options for a browser to create a passkey for an account, as JSON.
func (p *Passkeys) BeginMaking(ctx context.Context, origin, account, name string) (any, error) {
	lib, err := at(origin)
	if err != nil {
		return nil, err
	}
	u, err := p.user(ctx, account, name)
	if err != nil {
		return nil, err
	}
	if len(u.keys) >= mostPasskeys {
		return nil, fmt.Errorf("there are already %d passkeys. Remove one first", mostPasskeys)
	}
	choice := protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementRequired,
		UserVerification: protocol.VerificationRequired}
	options, kept, err := lib.BeginRegistration(u, webauthn.WithAuthenticatorSelection(choice),
		webauthn.WithExclusions(webauthn.Credentials(u.keys).CredentialDescriptors()))
	if err != nil {
		return nil, err
	}
	return options, p.keep(*kept, origin, account)
}

// Make finishes what BeginMaking started and stores the passkey under a name.
func (p *Passkeys) Make(ctx context.Context, account, name string, answer []byte) error {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return ErrNoPasskey
	}
	began, lib, err := p.take(parsed.Response.CollectedClientData.Challenge)
	if err != nil || began.account != account {
		return ErrNoPasskey
	}
	u, err := p.user(ctx, account, "")
	if err != nil {
		return err
	}
	made, err := lib.CreateCredential(u, began.SessionData, parsed)
	if err != nil {
		return ErrNoPasskey
	}
	name = texts.CutRunes(name, longestKey)
	k := Passkey{Account: account, Name: cmp.Or(name, "Passkey"), Host: lib.Config.RPID, Created: p.now(),
		Credential: *made}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return p.write(ctx, hex.EncodeToString(made.ID), b, false)
}

// BeginSigningIn returns the options for a browser to request any passkey of this host, as JSON.
func (p *Passkeys) BeginSigningIn(origin string) (any, error) {
	lib, err := at(origin)
	if err != nil {
		return nil, err
	}
	options, kept, err := lib.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, err
	}
	return options, p.keep(*kept, origin, "")
}

// SignIn finishes what BeginSigningIn started, and returns the passkey's account.
func (p *Passkeys) SignIn(ctx context.Context, answer []byte) (account string, err error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return "", ErrNoPasskey
	}
	began, lib, err := p.take(parsed.Response.CollectedClientData.Challenge)
	if err != nil || began.account != "" {
		return "", ErrNoPasskey
	}
	key := hex.EncodeToString(parsed.RawID)
	b, found, err := p.Store.Get(ctx, passkeyBucket, key)
	if err != nil || !found {
		return "", cmp.Or(err, ErrNoPasskey)
	}
	var k Passkey
	if err := json.Unmarshal(b, &k); err != nil {
		return "", err
	}
	u, err := p.user(ctx, k.Account, "")
	if err != nil {
		return "", err
	}
	find := func(_, handle []byte) (webauthn.User, error) {
		if !slices.Equal(handle, u.handle) {
			return nil, ErrNoPasskey
		}
		return u, nil
	}
	_, used, err := lib.ValidatePasskeyLogin(find, began.SessionData, parsed)
	if err != nil || used.Authenticator.CloneWarning {
		return "", ErrNoPasskey
	}
	k.Credential, k.Used = *used, p.now()
	if b, err = json.Marshal(k); err != nil {
		return "", err
	}
	return k.Account, p.write(ctx, key, b, true)
}

// write updates an existing passkey or adds a new one. A passkey that was removed meanwhile is not
// restored, and an existing one is never taken over.
func (p *Passkeys) write(ctx context.Context, key string, b []byte, known bool) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if _, found, err := p.Store.Get(ctx, passkeyBucket, key); err != nil || found != known {
		return cmp.Or(err, ErrNoPasskey)
	}
	return p.Store.Put(ctx, passkeyBucket, key, b)
}

func (p *Passkeys) keep(s webauthn.SessionData, origin, account string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		p.pending = map[string]pendingPasskey{}
	}
	now := p.now()
	for c, began := range p.pending {
		if now.After(began.until) {
			delete(p.pending, c)
		}
	}
	if len(p.pending) >= mostPending {
		return errors.New("too many people are signing in with passkeys. Try again in a few minutes")
	}
	p.pending[s.Challenge] = pendingPasskey{s, origin, account, now.Add(pendingLife)}
	return nil
}

// take returns a started ceremony by its challenge, once.
func (p *Passkeys) take(challenge string) (pendingPasskey, *webauthn.WebAuthn, error) {
	p.mu.Lock()
	began, found := p.pending[challenge]
	delete(p.pending, challenge)
	p.mu.Unlock()
	if !found || p.now().After(began.until) {
		return began, nil, ErrNoPasskey
	}
	lib, err := at(began.origin)
	return began, lib, err
}

func (p *Passkeys) now() time.Time {
	if p.Now == nil {
		return time.Now().UTC()
	}
	return p.Now().UTC()
}
