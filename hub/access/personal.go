package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	tokenBucket = "api-token"
	// separate from the token: a late write of its use must not restore a revoked token
	usedBucket    = "api-token-used"
	tokenPrefix   = "ahp_" // lets people and secret scanners recognize a token
	maxTokens     = 100
	useResolution = time.Hour // resolution of the last use
)

// ErrTokenEnded is the cause of a context that Bind ended: the token was revoked or has expired.
var ErrTokenEnded = errors.New("this client's token has been revoked or has expired")

// Token is a personal token for one AHP client. Its secret is shown once; the host keeps a hash.
type Token struct {
	ID      string    `json:"id"`
	Account string    `json:"account,omitempty"` // principal id of a person; "" is the owner
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Used    time.Time `json:"-"`                // the last time, to the hour
}

// Personal holds the personal tokens in memory; what it journals is applied to that copy.
type Personal struct {
	store Store
	now   func() time.Time

	mu   sync.Mutex
	used map[string]bool // tokens whose last use is not written yet
	byID map[string]*personal
	hash map[string]*personal
}

type personal struct {
	Token
	hash string
	life *life // ended by Revoke
}

// tokenDoc is a token as it is stored.
type tokenDoc struct {
	Token
	Hash string `json:"hash"`
}

// OpenPersonal reads the stored tokens.
func OpenPersonal(ctx context.Context, store Store) (*Personal, error) {
	p := &Personal{store: store, now: time.Now, used: map[string]bool{}, byID: map[string]*personal{},
		hash: map[string]*personal{}}
	if err := store.Each(ctx, tokenBucket, p.apply); err != nil {
		return nil, err
	}
	return p, store.Each(ctx, usedBucket, p.applyUsed)
}

// apply applies a token's record.
func (p *Personal) apply(key string, value []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return applyDoc("token", p.add, p.drop)(key, value)
}

func (p *Personal) add(doc tokenDoc) {
	t := &personal{Token: doc.Token, hash: doc.Hash}
	t.life = newLife()
	p.byID[t.ID], p.hash[t.hash] = t, t
}

func (p *Personal) drop(id string) {
	if t := p.byID[id]; t != nil {
		delete(p.byID, id)
		delete(p.hash, t.hash)
		t.life.end(ErrTokenEnded)
	}
}

// applyUsed applies the record of a token's last use.
func (p *Personal) applyUsed(key string, value []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.byID[key]; t != nil && value != nil {
		_ = t.Used.UnmarshalText(value) // an unreadable time counts as never
	}
	return nil
}

// accountOf converts a principal id to the account that a token names.
func accountOf(id string) string {
	if IsPerson(id) {
		return id
	}
	return ""
}

// New makes a personal token of the account who, with a name and an expiry (zero: none). The
// returned secret is not stored.
func (p *Personal) New(ctx context.Context, who, name string, expires time.Time) (token string, made Token, err error) {
	if name, err = CleanName(name); err != nil {
		return "", Token{}, errors.New(
			"name the token after the client that will use it, as in \"editor on my laptop\"")
	}
	if !expires.IsZero() && !expires.After(p.now()) {
		return "", Token{}, errors.New("the expiry time has passed. Choose a later time")
	}
	if len(p.List(who)) >= maxTokens {
		return "", Token{}, fmt.Errorf("there are already %d tokens. Revoke one first", maxTokens)
	}
	token = tokenPrefix + newToken(32)
	doc := tokenDoc{Token{ID: newToken(9), Account: accountOf(who), Name: name, Created: p.now().UTC(),
		Expires: expires},
		hashToken(token)}
	if err := keep(ctx, p.store, tokenBucket, doc.ID, doc, p.apply); err != nil {
		return "", Token{}, err
	}
	return token, doc.Token, nil
}

// check returns the token with this secret, or ErrWrongToken.
func (p *Personal) check(token string) (Token, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.hash[hashToken(token)]
	if t == nil || !t.isLive(p.now()) {
		return Token{}, ErrWrongToken
	}
	return t.Token, nil
}

func (t *Token) isLive(now time.Time) bool { return t.Expires.IsZero() || now.Before(t.Expires) }

// ErrNoToken reports that the account has no such token.
var ErrNoToken = errors.New("this token was already revoked or is not yours")

// RevokeOf revokes a token of the account who, or returns ErrNoToken.
func (p *Personal) RevokeOf(ctx context.Context, who, id string) (Token, error) {
	for _, t := range p.List(who) {
		if t.ID == id {
			return t, p.Revoke(ctx, id)
		}
	}
	return Token{}, ErrNoToken
}

// Revoke deletes a token and ends every socket that uses it. Revoking a missing token does nothing.
func (p *Personal) Revoke(ctx context.Context, id string) error {
	if err := remove(ctx, p.store, tokenBucket, id, p.apply); err != nil {
		return err
	}
	return remove(ctx, p.store, usedBucket, id, p.applyUsed)
}

// RevokeAll revokes every token of the account who.
func (p *Personal) RevokeAll(ctx context.Context, who string) error {
	var err error
	for _, t := range p.List(who) {
		err = errors.Join(err, p.Revoke(ctx, t.ID))
	}
	return err
}

// List returns all tokens of the account who, newest first.
func (p *Personal) List(who string) []Token {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Token
	for _, t := range p.byID {
		if t.Account == accountOf(who) {
			out = append(out, t.Token)
		}
	}
	slices.SortFunc(out, func(a, b Token) int {
		return cmp.Or(b.Created.Compare(a.Created),
			strings.Compare(a.ID, b.ID))
	})
	return out
}

// bind returns a context that ends with ErrTokenEnded as its cause when the token is revoked or
// expires, and records the use.
func (p *Personal) bind(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	t := p.use(id)
	if t == nil {
		ctx, end := context.WithCancelCause(ctx)
		end(ErrTokenEnded)
		return ctx, func() {}
	}
	ctx, end := t.life.bind(ctx)
	release := func() {}
	if !t.Expires.IsZero() {
		ctx, release = context.WithDeadlineCause(ctx, t.Expires, ErrTokenEnded)
	}
	return ctx, func() { end(); release() }
}

// use records the use of a token in memory; Flush writes it, so that checking a token writes
// nothing.
func (p *Personal) use(id string) *personal {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.byID[id]
	if t != nil && p.now().Sub(t.Used) >= useResolution {
		t.Used = p.now().UTC()
		p.used[id] = true
	}
	return t
}

// Flush writes the tokens' last uses. Call it regularly, and at shutdown.
func (p *Personal) Flush(ctx context.Context) error {
	p.mu.Lock()
	list := slices.Sorted(maps.Keys(p.used))
	clear(p.used)
	p.mu.Unlock()
	for i, id := range list {
		if err := p.writeUsed(ctx, id); err != nil {
			p.mu.Lock()
			for _, id := range list[i:] {
				p.used[id] = true
			}
			p.mu.Unlock()
			return err
		}
	}
	return nil
}

func (p *Personal) writeUsed(ctx context.Context, id string) error {
	p.mu.Lock()
	t := p.byID[id]
	if t == nil { // revoked meanwhile
		p.mu.Unlock()
		return nil
	}
	b, err := t.Used.MarshalText()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.store.Put(ctx, usedBucket, id, b)
}
