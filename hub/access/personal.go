package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	tokenBucket  = "api-token"
	usedBucket   = "api-token-used" // when, apart: a use that is written late must not bring a revoked token back
	tokenPrefix  = "ahp_"           // so that people and scanners of secrets know one when they see it
	mostTokens   = 100
	tokenTouched = time.Hour // how exactly the last use is kept
)

// ErrTokenEnded is the cause of a context that Bind ended: the token was revoked or expired.
var ErrTokenEnded = errors.New("the token this client came by has been revoked or has expired")

// Token is somebody's personal one, for one AHP client. What it is made of is shown once; the host keeps a hash.
type Token struct {
	ID      string    `json:"id"`
	Account string    `json:"account,omitempty"` // principal id of a person; "" is the owner
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Used    time.Time `json:"-"`                // last, to the hour
}

// TokenStore keeps documents; each call returns once it is durable.
type TokenStore interface {
	Store
	Delete(ctx context.Context, bucket, key string) error
}

// Personal holds the personal tokens in memory and writes each change through to the store.
type Personal struct {
	store TokenStore
	now   func() time.Time

	mu   sync.Mutex
	byID map[string]*personal
	hash map[string]*personal
}

type personal struct {
	Token
	hash string
	life context.Context
	end  context.CancelCauseFunc // of life, by Revoke
}

// tokenDoc is a token as it is kept.
type tokenDoc struct {
	Token
	Hash string `json:"hash"`
}

// OpenPersonal reads the tokens that are kept.
func OpenPersonal(ctx context.Context, store TokenStore) (*Personal, error) {
	p := &Personal{store: store, now: time.Now, byID: map[string]*personal{}, hash: map[string]*personal{}}
	if err := eachDoc(ctx, store, tokenBucket, "token", p.add); err != nil {
		return nil, err
	}
	return p, store.Each(ctx, usedBucket, func(key string, b []byte) error {
		if t := p.byID[key]; t != nil {
			_ = t.Used.UnmarshalText(b) // one that cannot be read counts as never
		}
		return nil
	})
}

func (p *Personal) add(doc tokenDoc) {
	t := &personal{Token: doc.Token, hash: doc.Hash}
	t.life, t.end = context.WithCancelCause(context.Background())
	p.byID[t.ID], p.hash[t.hash] = t, t
}

// account is the owner or a person, as a token names them.
func account(id string) string {
	if IsPerson(id) {
		return id
	}
	return ""
}

// New makes a token of somebody's with a name and an end; zero is none. What it returns is not kept.
func (p *Personal) New(ctx context.Context, who, name string, expires time.Time) (token string, made Token, err error) {
	if name, err = CleanName(name); err != nil {
		return "", Token{}, errors.New("name the token after what will use it, as in \"editor on my laptop\"")
	}
	if !expires.IsZero() && !expires.After(p.now()) {
		return "", Token{}, errors.New("the token would have expired already: choose a later time")
	}
	if len(p.List(who)) >= mostTokens {
		return "", Token{}, fmt.Errorf("there are %d tokens already: revoke one first", mostTokens)
	}
	token = tokenPrefix + newToken(32)
	doc := tokenDoc{Token{ID: newToken(9), Account: account(who), Name: name, Created: p.now().UTC(), Expires: expires}, hash(token)}
	if err := addDoc(ctx, p.store, tokenBucket, doc.ID, doc); err != nil {
		return "", Token{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(doc)
	return token, doc.Token, nil
}

// check finds the token that was shown; ErrWrongToken for any other.
func (p *Personal) check(token string) (Token, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.hash[hash(token)]
	if t == nil || !t.live(p.now()) {
		return Token{}, ErrWrongToken
	}
	return t.Token, nil
}

func (t *Token) live(now time.Time) bool { return t.Expires.IsZero() || now.Before(t.Expires) }

// ErrNoToken says that there is no such token of that account.
var ErrNoToken = errors.New("there is no such token of yours: it was revoked already, or is not yours to revoke")

// RevokeOf revokes a token of an account's, or returns ErrNoToken.
func (p *Personal) RevokeOf(ctx context.Context, who, id string) (Token, error) {
	for _, t := range p.List(who) {
		if t.ID == id {
			return t, p.Revoke(ctx, id)
		}
	}
	return Token{}, ErrNoToken
}

// Revoke deletes a token and ends every socket that came by it. One that is not there is gone already.
func (p *Personal) Revoke(ctx context.Context, id string) error {
	if err := p.store.Delete(ctx, tokenBucket, id); err != nil {
		return err
	}
	p.mu.Lock()
	if t := p.byID[id]; t != nil {
		delete(p.byID, id)
		delete(p.hash, t.hash)
		t.end(ErrTokenEnded)
	}
	p.mu.Unlock()
	return p.store.Delete(ctx, usedBucket, id)
}

// RevokeAll ends every token of somebody's.
func (p *Personal) RevokeAll(ctx context.Context, who string) error {
	var err error
	for _, t := range p.List(who) {
		err = errors.Join(err, p.Revoke(ctx, t.ID))
	}
	return err
}

// List returns all tokens of somebody, the owner or a person, newest first.
func (p *Personal) List(who string) []Token {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Token
	for _, t := range p.byID {
		if t.Account == account(who) {
			out = append(out, t.Token)
		}
	}
	slices.SortFunc(out, func(a, b Token) int { return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID)) })
	return out
}

// bind returns a context that ends with ErrTokenEnded as its cause once the token is no more, and keeps when it was used.
func (p *Personal) bind(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	t := p.use(ctx, id)
	if t == nil {
		end(ErrTokenEnded)
		return ctx, func() {}
	}
	stop := context.AfterFunc(t.life, func() { end(ErrTokenEnded) })
	release := func() {}
	if !t.Expires.IsZero() {
		ctx, release = context.WithDeadlineCause(ctx, t.Expires, ErrTokenEnded)
	}
	return ctx, func() { stop(); end(context.Canceled); release() }
}

// use finds a token and writes down that it was used. A store that cannot be written keeps nobody out.
func (p *Personal) use(ctx context.Context, id string) *personal {
	p.mu.Lock()
	t := p.byID[id]
	if t == nil || p.now().Sub(t.Used) < tokenTouched {
		p.mu.Unlock()
		return t
	}
	t.Used = p.now().UTC()
	b, err := t.Used.MarshalText()
	p.mu.Unlock()
	if err == nil {
		_ = p.store.Put(ctx, usedBucket, id, b)
	}
	return t
}
