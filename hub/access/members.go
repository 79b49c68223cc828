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
	mostMembers  = 500
	inviteLife   = 7 * 24 * time.Hour
)

// ErrRemoved is the cause of a context that Bind ended: somebody's rights were changed or taken away.
var ErrRemoved = errors.New("what you may do here has been changed")

// ErrNameTaken refuses a name that somebody else signs in by.
var ErrNameTaken = errors.New("somebody here has this name already: choose another one")

// Members holds the people with an account in memory and writes each change through to the store.
type Members struct {
	store TokenStore
	owner string // whose name nobody else takes
	now   func() time.Time

	mu   sync.Mutex
	byID map[string]*member
	hash map[string]*member // of invitations
}

type member struct {
	Member
	hash string // of the invitation; "" once it was taken
	life context.Context
	end  context.CancelCauseFunc // of life, by every change
	busy bool                    // a change of them is being written
}

// memberDoc is a member as they are kept.
type memberDoc struct {
	Member
	Hash string `json:"hash,omitempty"`
}

// OpenMembers reads the people that are kept. Nobody takes the owner's name.
func OpenMembers(ctx context.Context, store TokenStore, owner string) (*Members, error) {
	m := &Members{store: store, owner: owner, now: time.Now, byID: map[string]*member{}, hash: map[string]*member{}}
	return m, eachDoc(ctx, store, memberBucket, "the person", m.put)
}

// put takes a document in, and ends what depends on how somebody was before.
func (m *Members) put(doc memberDoc) {
	m.drop(doc.ID)
	k := &member{Member: doc.Member, hash: doc.Hash}
	k.life, k.end = context.WithCancelCause(context.Background())
	m.byID[k.ID] = k
	if k.hash != "" {
		m.hash[k.hash] = k
	}
}

func (m *Members) drop(id string) {
	if k := m.byID[id]; k != nil {
		delete(m.byID, id)
		delete(m.hash, k.hash)
		k.end(ErrRemoved)
	}
}

// Invite makes a person with want's role, switches and For, and returns the token of their invitation: 128 random bits that
// are not kept. It works once, within a week.
func (m *Members) Invite(ctx context.Context, want Member) (token string, made Member, err error) {
	if err := want.check(); err != nil {
		return "", Member{}, err
	}
	if len(m.List()) >= mostMembers {
		return "", Member{}, fmt.Errorf("there are %d people already: remove somebody first", mostMembers)
	}
	token = newToken(16)
	now := m.now().UTC()
	want.ID, want.Name, want.Made, want.Joined, want.Expires = personPrefix+newToken(9), "", now, time.Time{}, now.Add(inviteLife)
	doc := memberDoc{want, hash(token)}
	if err := addDoc(ctx, m.store, memberBucket, want.ID, doc); err != nil {
		return "", Member{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(doc)
	return token, want, nil
}

// Peek tells what a token would make its bearer, without using it.
func (m *Members) Peek(token string) (Member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.hash[hash(token)]
	if k == nil || k.Expired(m.now()) {
		return Member{}, ErrWrongToken
	}
	return k.Member, nil
}

// Accept takes an invitation under a name that nobody else has. A token works once, also when two come by it at once.
func (m *Members) Accept(ctx context.Context, token, name string) (Principal, error) {
	name, err := CleanName(name)
	if err != nil {
		return Principal{}, err
	}
	now, err := m.change(ctx, func() (*member, error) { return m.hash[hash(token)], nil }, func(doc *memberDoc) error {
		switch {
		case doc.Expired(m.now()):
			return ErrWrongToken
		case m.named(name) != nil || strings.EqualFold(name, m.owner):
			return ErrNameTaken
		}
		doc.Name, doc.Joined, doc.Expires, doc.Hash = name, m.now().UTC(), time.Time{}, ""
		return nil
	})
	return now.principal(), err
}

// Change gives somebody another role and other switches. What they have open ends, and starts anew by these.
func (m *Members) Change(ctx context.Context, id string, want Member) error {
	if err := want.check(); err != nil {
		return err
	}
	_, err := m.change(ctx, m.find(id), func(doc *memberDoc) error {
		doc.Role, doc.Prompt, doc.Approve, doc.Guests, doc.Type = want.Role, want.Prompt, want.Approve, want.Guests, want.Type
		return nil
	})
	return err
}

func (m *Members) find(id string) func() (*member, error) {
	return func() (*member, error) {
		k := m.byID[id]
		if k == nil {
			return nil, errors.New("there is no such person")
		}
		return k, nil
	}
}

// change edits one person's document and writes it. Of two changes at once the second is refused: both were made of what
// was there before.
func (m *Members) change(ctx context.Context, find func() (*member, error), edit func(*memberDoc) error) (Member, error) {
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
	k.busy, k.Name = true, doc.Name // taken from now on
	m.mu.Unlock()
	err = putDoc(ctx, m.store, memberBucket, doc.ID, doc)
	m.mu.Lock()
	k.busy = false
	removed := m.byID[doc.ID] != k
	if err != nil {
		k.Name = was
	} else if !removed {
		m.put(doc)
	}
	m.mu.Unlock()
	if removed { // meanwhile, so what was written goes again
		return Member{}, errors.Join(ErrWrongToken, m.store.Delete(ctx, memberBucket, doc.ID))
	}
	return doc.Member, err
}

// ErrNoPerson says that an account, or an invitation, is not there.
var ErrNoPerson = errors.New("there is no such person or invitation: they were removed already")

// Remove takes somebody's account away, or their invitation, and ends what they have open. Their browsers and tokens are
// the caller's to end.
func (m *Members) Remove(ctx context.Context, id string) error {
	m.mu.Lock()
	known := m.byID[id] != nil
	m.mu.Unlock()
	if !known {
		return ErrNoPerson
	}
	if err := m.store.Delete(ctx, memberBucket, id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(id)
	return nil
}

// Principal is who somebody with an account is; false when they are not, or not any more.
func (m *Members) Principal(id string) (Principal, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.byID[id]
	if k == nil || k.Invited() {
		return Principal{}, false
	}
	return k.principal(), true
}

// ByName finds whom somebody signs in as.
func (m *Members) ByName(name string) (id string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.named(name); k != nil {
		return k.ID, true
	}
	return "", false
}

func (m *Members) named(name string) *member {
	for _, k := range m.byID {
		if k.Name != "" && strings.EqualFold(k.Name, strings.TrimSpace(name)) {
			return k
		}
	}
	return nil
}

// Any reports whether somebody has taken an invitation.
func (m *Members) Any() bool {
	return slices.ContainsFunc(m.List(), func(k Member) bool { return !k.Invited() })
}

// List returns everybody, who was invited last first.
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

// Bind returns a context that ends with ErrRemoved as its cause once somebody's rights are others. For everybody it
// does not know it lasts. Call cancel when done.
func (m *Members) Bind(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	m.mu.Lock()
	k := m.byID[id]
	m.mu.Unlock()
	if k == nil {
		return ctx, func() { end(context.Canceled) }
	}
	stop := context.AfterFunc(k.life, func() { end(ErrRemoved) })
	return ctx, func() { stop(); end(context.Canceled) }
}
