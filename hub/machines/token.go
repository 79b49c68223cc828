package machines

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	tokenPrefix = "ahj1." // lets people and secret scanners recognize a token
	tokenLife   = time.Hour
	mostTokens  = 20
)

// SecretBytes is the length of the secret in a token.
const SecretBytes = 16

// ErrWrongToken refuses an unknown, used or expired token.
var ErrWrongToken = errors.New("this token is not valid: it was used, has expired or was removed. Create a new one on the Machines page")

// Token lets one computer join. The hub stores a hash of its secret.
type Token struct {
	ID      string    `json:"id"`
	By      string    `json:"by"` // principal who created it
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// tokenDoc is a stored token.
type tokenDoc struct {
	Token
	Hash string `json:"hash"`
}

// Invite is the content of a token: the secret, and the key by which a computer recognizes the hub.
type Invite struct {
	Secret [SecretBytes]byte
	Hub    ed25519.PublicKey
}

// String returns the text of a token.
func (i Invite) String() string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(i.Secret[:], i.Hub...))
}

// ParseInvite parses the text of a token. Errors never quote it.
func ParseInvite(text string) (Invite, error) {
	raw, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	b, err := base64.RawURLEncoding.DecodeString(raw)
	if !ok || err != nil || len(b) != SecretBytes+ed25519.PublicKeySize {
		return Invite{}, errors.New("this is not a token to join a hub. Copy the whole line from the Machines page")
	}
	i := Invite{Hub: ed25519.PublicKey(b[SecretBytes:])}
	copy(i.Secret[:], b)
	return i, nil
}

func hashSecret(secret [SecretBytes]byte) string {
	sum := sha256.Sum256(secret[:])
	return hex.EncodeToString(sum[:])
}

// applyToken applies the record of a token; without a value, the token was used or removed.
func (r *Registry) applyToken(id string, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value == nil {
		for hash, t := range r.tokens {
			if t.ID == id {
				delete(r.tokens, hash)
			}
		}
		return nil
	}
	var doc tokenDoc
	if err := json.Unmarshal(value, &doc); err != nil || doc.ID != id {
		return fmt.Errorf("the token %s of a machine cannot be read", id)
	}
	r.tokens[doc.Hash] = doc.Token
	return nil
}

// NewToken creates a token, which works once within an hour. Its text is not stored.
func (r *Registry) NewToken(ctx context.Context, by string) (text string, made Token, err error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if err := r.dropExpired(ctx); err != nil {
		return "", Token{}, err
	}
	if len(r.Tokens()) >= mostTokens {
		return "", Token{}, refusef("there are already %d unused tokens. Remove one first", mostTokens)
	}
	now := r.cfg.Now().UTC()
	invite := Invite{Hub: r.key.Public().(ed25519.PublicKey)}
	rand.Read(invite.Secret[:])
	id := make([]byte, 9)
	rand.Read(id)
	made = Token{ID: base64.RawURLEncoding.EncodeToString(id), By: by, Created: now, Expires: now.Add(tokenLife)}
	value, err := json.Marshal(tokenDoc{made, hashSecret(invite.Secret)})
	if err == nil {
		err = r.cfg.Docs.Put(ctx, tokenBucket, made.ID, value)
	}
	if err == nil {
		err = r.applyToken(made.ID, value)
		r.tell()
	}
	return invite.String(), made, err
}

// dropExpired removes expired tokens.
func (r *Registry) dropExpired(ctx context.Context) error {
	r.mu.Lock()
	var gone []string
	for _, t := range r.tokens {
		if !t.Expires.After(r.cfg.Now()) {
			gone = append(gone, t.ID)
		}
	}
	r.mu.Unlock()
	for _, id := range gone {
		if err := r.dropToken(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) dropToken(ctx context.Context, id string) error {
	if err := r.cfg.Docs.Delete(ctx, tokenBucket, id); err != nil {
		return err
	}
	defer r.tell()
	return r.applyToken(id, nil)
}

// Tokens returns the valid tokens, newest first.
func (r *Registry) Tokens() []Token {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Token
	for _, t := range r.tokens {
		if t.Expires.After(r.cfg.Now()) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b Token) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// RemoveToken invalidates a token.
func (r *Registry) RemoveToken(ctx context.Context, id string) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if !slices.ContainsFunc(r.Tokens(), func(t Token) bool { return t.ID == id }) {
		return Refused{errors.New("there is no such token. It was used, has expired or was removed")}
	}
	return r.dropToken(ctx, id)
}

// Redeem creates a machine from a token. The token works once, even if two computers present it at the same time. A
// name that is taken does not use up the token.
func (r *Registry) Redeem(ctx context.Context, secret [SecretBytes]byte, name string, key ed25519.PublicKey) (Machine, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	token, ok := r.tokens[hashSecret(secret)]
	full := len(r.byID) >= mostMachines
	r.mu.Unlock()
	if !ok || !token.Expires.After(r.cfg.Now()) {
		return Machine{}, ErrWrongToken
	}
	if err := cmp.Or(CheckName(name), r.isFree(name, "")); err != nil {
		return Machine{}, err
	}
	if full {
		return Machine{}, refusef("this hub has %d machines already. Revoke one first", mostMachines)
	}
	if _, err := r.Find(key); err == nil {
		return Machine{}, refusef("this computer has joined already. Run ahphub join without a token")
	}
	if err := r.dropToken(ctx, token.ID); err != nil { // first: a crash in between costs a token, not a second machine
		return Machine{}, err
	}
	return r.add(ctx, name, token.By, key)
}
