package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	linkBucket  = "link"
	useBucket   = "link-use"
	maxLinks    = 1000 // live links, on the whole host
	maxUsesKept = 500  // guests of one link
)

// ErrRevoked is the cause of a context that Bind ended: the link was revoked or has expired.
var ErrRevoked = errors.New("your access has ended: the link was revoked or has expired")

// ErrUsedUp refuses a guest when a link has no uses left.
var ErrUsedUp = errors.New("this link has no uses left")

// ErrSignIn refuses a visitor without an account when the link requires one.
var ErrSignIn = errors.New("sign in to use this link, or ask the owner to invite you")

// Links holds every link in memory; what it journals is applied to that copy.
type Links struct {
	store Store
	world World // resolves the scopes of links; set once, before the first guest
	now   func() time.Time

	mu   sync.Mutex
	byID map[string]*link
	hash map[string]*link
}

type link struct {
	Link
	hash     string
	entering map[string]chan struct{} // uses being written, by their key; each is closed when its write ends
	life     *life                    // ended by Revoke
}

// linkDoc is a link as it is stored.
type linkDoc struct {
	Link
	Hash string `json:"hash"`
}

// OpenLinks reads the stored links.
func OpenLinks(ctx context.Context, store Store) (*Links, error) {
	l := &Links{store: store, now: time.Now, byID: map[string]*link{}, hash: map[string]*link{}}
	if err := store.Each(ctx, linkBucket, l.applyLink); err != nil {
		return nil, err
	}
	if err := store.Each(ctx, useBucket, l.applyUse); err != nil {
		return nil, err
	}
	for _, k := range l.byID {
		slices.SortFunc(k.Uses, func(a, b Use) int { return a.At.Compare(b.At) })
	}
	return l, nil
}

// SetWorld sets where the scopes of links are looked up. Call it before the first guest arrives.
func (l *Links) SetWorld(w World) { l.world = w }

// applyLink applies a link's record; links are revoked, never deleted.
func (l *Links) applyLink(key string, value []byte) error {
	return applyDoc("link", l.takeLink, func(string) {})(key, value)
}

func (l *Links) takeLink(doc linkDoc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.byID[doc.ID]
	if k == nil {
		k = &link{Link: doc.Link, hash: doc.Hash, entering: map[string]chan struct{}{}}
		k.life = newLife()
		l.byID[k.ID], l.hash[k.hash] = k, k
	}
	if k.Revoked = doc.Revoked; !k.Revoked.IsZero() {
		k.life.end(ErrRevoked)
	}
}

// applyUse applies the record of a use. An unreadable one is skipped: it only shows who used the
// link.
func (l *Links) applyUse(key string, value []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addUse(key, value)
}

// addUse does the same while l.mu is held.
func (l *Links) addUse(key string, value []byte) error {
	id, _, _ := strings.Cut(key, "/")
	k := l.byID[id]
	var u Use
	if k == nil || json.Unmarshal(value, &u) != nil {
		return nil
	}
	k.Uses = append(k.Uses, u)
	return nil
}

// New makes a link for want.Session with want's role, label and expiry. It returns the token, 128
// random bits, which is not stored.
func (l *Links) New(ctx context.Context, want Link) (token string, made Link, err error) {
	if err := l.check(want); err != nil {
		return "", Link{}, err
	}
	token = newToken(16)
	want.ID, want.Created, want.Revoked, want.Uses = newToken(9), l.now().UTC(), time.Time{}, nil
	doc := linkDoc{want, hashToken(token)}
	if err := keep(ctx, l.store, linkBucket, want.ID, doc, l.applyLink); err != nil {
		return "", Link{}, err
	}
	return token, want, nil
}

func (l *Links) check(want Link) error {
	if err := errors.Join(want.checkRole(), want.checkScope()); err != nil {
		return err
	}
	if want.Session == "" {
		return errors.New("a link needs a session")
	}
	if !want.Expires.IsZero() && !want.Expires.After(l.now()) {
		return errors.New("the expiry time has passed. Choose a later time")
	}
	if want.MaxUses < 0 || want.MaxUses > maxUsesKept {
		return fmt.Errorf("a link admits 1 to %d people", maxUsesKept)
	}
	if l.countLive() >= maxLinks {
		return fmt.Errorf("there are already %d links. Revoke one first", maxLinks)
	}
	return nil
}

func (l *Links) countLive() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, k := range l.byID {
		if k.IsLive(l.now()) {
			n++
		}
	}
	return n
}

// Peek returns the link of a token without using it.
func (l *Links) Peek(token string) (Link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.hash[hashToken(token)]
	if k == nil || !k.IsLive(l.now()) {
		return Link{}, ErrWrongToken
	}
	return k.copy(), nil
}

func (k *link) copy() Link {
	c := k.Link
	c.Uses = slices.Clone(k.Uses)
	return c
}

// Principal returns a guest who used a link earlier, or ErrRevoked.
func (l *Links) Principal(linkID, guest string) (Principal, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.byID[linkID]
	if k == nil || !k.IsLive(l.now()) {
		return Principal{}, ErrRevoked
	}
	for _, u := range k.Uses {
		if u.Guest == guest {
			return l.guest(k, u), nil
		}
	}
	return Principal{}, ErrRevoked
}

func (l *Links) guest(k *link, u Use) Principal {
	p := k.principal(u.Guest, u.Name)
	p.world = l.world
	return p
}

// Revoke ends a link and the access of all its guests at once. Revoking again changes nothing.
func (l *Links) Revoke(ctx context.Context, id string) error {
	l.mu.Lock()
	k := l.byID[id]
	if k == nil {
		l.mu.Unlock()
		return fmt.Errorf("there is no link with the id %s", id)
	}
	doc := linkDoc{k.Link, k.hash}
	l.mu.Unlock()
	if doc.Revoked.IsZero() {
		doc.Revoked = l.now().UTC()
	}
	doc.Uses = nil  // uses have their own records
	l.takeLink(doc) // immediately, even if the write fails
	return keep(ctx, l.store, linkBucket, id, doc, l.applyLink)
}

// Bind returns a context that ends with ErrRevoked as its cause when p's link is revoked or
// expires, so that open pages and sockets end too. Call cancel when done.
func (l *Links) Bind(ctx context.Context, p Principal) (context.Context, context.CancelFunc) {
	if p.Link == "" {
		return context.WithCancel(ctx)
	}
	k := l.find(p.Link)
	if k == nil {
		ctx, end := context.WithCancelCause(ctx)
		end(ErrRevoked)
		return ctx, func() {}
	}
	ctx, end := k.life.bind(ctx)
	release := func() {}
	if !k.Expires.IsZero() {
		ctx, release = context.WithDeadlineCause(ctx, k.Expires, ErrRevoked)
	}
	return ctx, func() { end(); release() }
}

// find returns a link. Its immutable fields may be read without the lock.
func (l *Links) find(id string) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id]
}

// List returns the links of a session, newest first; "" lists all.
func (l *Links) List(session ahp.URI) []Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Link
	for _, k := range l.byID {
		if session == "" || k.Session == session {
			out = append(out, k.copy())
		}
	}
	slices.SortFunc(out, func(a, b Link) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return out
}
