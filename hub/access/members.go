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
	memberBucket = "member"
	maxMembers   = 500
	inviteLife   = 7 * 24 * time.Hour
)

// ErrRemoved is the cause of a context that Bind ended: the person's rights were changed or
// removed.
var ErrRemoved = errors.New("your permissions have changed")

// ErrNameTaken refuses a name that another account uses.
var ErrNameTaken = errors.New("this name is already taken. Choose another one")

// Members holds the people with an account in memory and writes each change through to the store.
type Members struct {
	store Store
	owner string // the owner's name, which accounts cannot take
	now   func() time.Time

	mu   sync.Mutex
	byID map[string]*member
	hash map[string]*member // by the hash of the invitation
}

type member struct {
	Member
	hash string // of the invitation; "" once it was accepted
	life *life  // ended by every change
	busy bool   // a change is being written
}

// memberDoc is a member as it is stored.
type memberDoc struct {
	Member
	Hash string `json:"hash,omitempty"`
}

// OpenMembers reads the stored accounts. No account can take the owner's name.
func OpenMembers(ctx context.Context, store Store, owner string) (*Members, error) {
	m := &Members{store: store, owner: owner, now: time.Now, byID: map[string]*member{}, hash: map[string]*member{}}
	return m, store.Each(ctx, memberBucket, m.apply)
}

// apply applies the record of an account or an invitation.
func (m *Members) apply(key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return applyDoc("the person", m.put, m.drop)(key, value)
}

// put stores a document in memory and ends the contexts bound to its earlier version.
func (m *Members) put(doc memberDoc) {
	m.drop(doc.ID)
	k := &member{Member: doc.Member, hash: doc.Hash}
	k.life = newLife()
	m.byID[k.ID] = k
	if k.hash != "" {
		m.hash[k.hash] = k
	}
}

func (m *Members) drop(id string) {
	if k := m.byID[id]; k != nil {
		delete(m.byID, id)
		delete(m.hash, k.hash)
		k.life.end(ErrRemoved)
	}
}

// Invite makes an account with want's role, switches and For, and returns the token of its
// invitation: 128 random bits, which are not stored. The token works once, within a week.
func (m *Members) Invite(ctx context.Context, want Member) (token string, made Member, err error) {
	if err := want.check(); err != nil {
		return "", Member{}, err
	}
	if len(m.List()) >= maxMembers {
		return "", Member{}, fmt.Errorf("there are already %d people. Remove one first", maxMembers)
	}
	token = newToken(16)
	now := m.now().UTC()
	want.ID, want.Name, want.Made, want.Joined, want.Expires = personPrefix+newToken(9), "", now, time.Time{},
		now.Add(inviteLife)
	doc := memberDoc{want, hashToken(token)}
	if err := keep(ctx, m.store, memberBucket, want.ID, doc, m.apply); err != nil {
		return "", Member{}, err
	}
	return token, want, nil
}

// Peek returns the account that a token invites to, without accepting it.
func (m *Members) Peek(token string) (Member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.hash[hashToken(token)]
	if k == nil || k.IsExpired(m.now()) {
		return Member{}, ErrWrongToken
	}
	return k.Member, nil
}

// Accept accepts an invitation under an unused name. A token works once, even if two requests use
// it at the same time.
func (m *Members) Accept(ctx context.Context, token, name string) (Principal, error) {
	name, err := CleanName(name)
	if err != nil {
		return Principal{}, err
	}
	now, err := m.change(ctx, func() (*member, error) { return m.hash[hashToken(token)], nil },
		func(doc *memberDoc) error {
			switch {
			case doc.IsExpired(m.now()):
				return ErrWrongToken
			case m.findByName(name) != nil || strings.EqualFold(name, m.owner):
				return ErrNameTaken
			}
			doc.Name, doc.Joined, doc.Expires, doc.Hash = name, m.now().UTC(), time.Time{}, ""
			return nil
		})
	return now.principal(), err
}

// Change sets a person's role and switches. Their open pages and sockets end, and reconnect with
// the new rights.
func (m *Members) Change(ctx context.Context, id string, want Member) error {
	if err := want.check(); err != nil {
		return err
	}
	_, err := m.change(ctx, m.find(id), func(doc *memberDoc) error {
		doc.Role, doc.Prompt, doc.Approve, doc.Guests, doc.Type = want.Role, want.Prompt, want.Approve, want.Guests,
			want.Type
		return nil
	})
	return err
}

func (m *Members) find(id string) func() (*member, error) {
	return func() (*member, error) {
		k := m.byID[id]
		if k == nil {
			return nil, errors.New("this person does not exist or was removed")
		}
		return k, nil
	}
}

// change edits one person's document and writes it. The second of two concurrent changes is
// refused: it was based on the state before the first.
func (m *Members) change(ctx context.Context, find func() (*member, error), edit func(*memberDoc) error) (Member,
	error) {
	m.mu.Lock()
	k, err := find()
	if err == nil && (k == nil || k.busy) {
		err = ErrWrongToken
	}
	if err != nil {
		m.mu.Unlock()
		return Member{}, err
	}
	doc := memberDoc{k.Member, k.hash}
	if err := edit(&doc); err != nil {
		m.mu.Unlock()
		return Member{}, err
	}
	was := k.Name
	k.busy, k.Name = true, doc.Name // reserves the name from now on
	m.mu.Unlock()
	removed := false
	err = keep(ctx, m.store, memberBucket, doc.ID, doc, func(key string, value []byte) error {
		m.mu.Lock()
		removed = m.byID[key] != k
		m.mu.Unlock()
		if removed { // removed meanwhile, so delete the new record too
			return errors.Join(ErrWrongToken, remove(ctx, m.store, memberBucket, key, m.apply))
		}
		return m.apply(key, value)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	k.busy = false
	if err != nil {
		k.Name = was
		return Member{}, err
	}
	return doc.Member, nil
}

// ErrNoPerson reports a missing account or invitation.
var ErrNoPerson = errors.New("this person or invitation was already removed")

// Remove deletes an account or invitation, and ends what it has open. The caller ends its browser
// sessions and tokens.
func (m *Members) Remove(ctx context.Context, id string) error {
	m.mu.Lock()
	known := m.byID[id] != nil
	m.mu.Unlock()
	if !known {
		return ErrNoPerson
	}
	return remove(ctx, m.store, memberBucket, id, m.apply)
}

// Principal returns the principal of an account; false when the account does not exist or was
// removed.
func (m *Members) Principal(id string) (Principal, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.byID[id]
	if k == nil || k.IsInvited() {
		return Principal{}, false
	}
	return k.principal(), true
}

// ByName returns the id of the account with this sign-in name.
func (m *Members) ByName(name string) (id string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.findByName(name); k != nil {
		return k.ID, true
	}
	return "", false
}

func (m *Members) findByName(name string) *member {
	for _, k := range m.byID {
		if k.Name != "" && strings.EqualFold(k.Name, strings.TrimSpace(name)) {
			return k
		}
	}
	return nil
}

// HasJoined reports whether at least one invitation was accepted.
func (m *Members) HasJoined() bool {
	return slices.ContainsFunc(m.List(), func(k Member) bool { return !k.IsInvited() })
}

// List returns all accounts, the latest invitation first.
func (m *Members) List() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Member
	for _, k := range m.byID {
		out = append(out, k.Member)
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Or(b.Made.Compare(a.Made), strings.Compare(a.ID, b.ID)) })
	return out
}

// Bind returns a context that ends with ErrRemoved as its cause when the person's rights change.
// For an unknown id it does not end. Call cancel when done.
func (m *Members) Bind(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	m.mu.Lock()
	k := m.byID[id]
	m.mu.Unlock()
	if k == nil {
		return context.WithCancel(ctx)
	}
	return k.life.bind(ctx)
}
