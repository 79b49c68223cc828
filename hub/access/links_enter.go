package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Redeem lets somebody in by a token, under the name they give. The guest's id is stable:
// keep it in their cookie and ask Principal for it from then on.
func (l *Links) Redeem(ctx context.Context, token, name string) (Principal, error) {
	name, err := CleanName(name)
	if err != nil {
		return Principal{}, err
	}
	k, err := l.byToken(token)
	if err != nil {
		return Principal{}, err
	}
	if k.SignIn {
		return Principal{}, ErrSignIn
	}
	return l.enter(ctx, k, Use{Guest: "guest:" + newToken(9), Name: name})
}

// RedeemAs lets in a person with an account, under their own name. However often they come, it is one use.
func (l *Links) RedeemAs(ctx context.Context, token string, who Principal) (Principal, error) {
	k, err := l.byToken(token)
	if err != nil {
		return Principal{}, err
	}
	if !who.Account() {
		return Principal{}, ErrSignIn
	}
	return l.enter(ctx, k, Use{Guest: who.ID, Name: who.Name})
}

// Bearer returns the principal of an AHP client that shows a link's token instead of a cookie. It is nobody in
// particular before Admit has said which client it is.
func (l *Links) Bearer(token string) (Principal, error) {
	k, err := l.byToken(token)
	if err != nil {
		return Principal{}, err
	}
	if k.SignIn {
		return Principal{}, ErrSignIn
	}
	return l.guest(k, Use{Guest: bearerPrefix + k.ID, Name: cmp.Or(k.Label, "Guest")}), nil
}

const bearerPrefix = "link:" // of the principal ids of clients that have not said who they are

// Admit makes of the bearer of a link's token one guest by client: the same clientId is one use of the link, however often
// it comes. Anybody else stays who they are. Clients choose their ids anew as they like, so where a link does not count
// those beyond what is kept share one guest.
func (l *Links) Admit(ctx context.Context, p Principal, clientID, name string) (Principal, error) {
	k := l.find(p.Link)
	if k == nil || !p.Bearer() {
		return p, nil
	}
	clean, err := CleanName(name)
	switch {
	case err != nil:
		clean = p.Name
	case k.Label != "":
		clean = k.Label + " (" + clean + ")"
	}
	guest, err := l.enter(ctx, k, Use{Guest: "guest:" + newToken(9), Name: clean, Client: clientID})
	if err != nil && k.MaxUses == 0 && k.full(l) {
		return p, nil
	}
	return guest, err
}

func (k *link) full(l *Links) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.Live(l.now()) && len(k.Uses)+len(k.entering) >= k.most()
}

func (l *Links) byToken(token string) (*link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.hash[hash(token)]
	if k == nil || !k.Live(l.now()) {
		return nil, ErrWrongToken
	}
	return k, nil
}

// same reports whether two uses are one person's, or one client's.
func (u Use) same(v Use) bool { return u.key() == v.key() }

func (u Use) key() string {
	if u.Client != "" {
		return "client " + u.Client
	}
	return u.Guest
}

// enter lets one more in, or one again: a place is taken while the use is written, and whoever comes twice at once waits
// for the first.
func (l *Links) enter(ctx context.Context, k *link, use Use) (Principal, error) {
	for {
		p, wait, err := l.take(k, use)
		if p.Known() || err != nil {
			return p, err
		}
		if wait == nil {
			return l.write(ctx, k, use)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return Principal{}, context.Cause(ctx)
		}
	}
}

// take finds who came before, or what to wait for, or takes a place.
func (l *Links) take(k *link, use Use) (who Principal, wait <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !k.Live(l.now()) {
		return who, nil, ErrWrongToken
	}
	if i := slices.IndexFunc(k.Uses, use.same); i >= 0 {
		return l.guest(k, k.Uses[i]), nil, nil
	}
	if first := k.entering[use.key()]; first != nil {
		return who, first, nil
	}
	if n := len(k.Uses) + len(k.entering); n >= k.most() {
		return who, nil, fmt.Errorf("%w: it let in %d, ask for a new one", ErrUsedUp, n)
	}
	k.entering[use.key()] = make(chan struct{})
	return who, nil, nil
}

func (l *Links) write(ctx context.Context, k *link, use Use) (Principal, error) {
	use.At = l.now().UTC()
	err := addDoc(ctx, l.store, useBucket, k.ID+"/"+use.Guest, use)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(k.entering[use.key()])
	delete(k.entering, use.key())
	if err != nil {
		return Principal{}, err
	}
	if !k.Live(l.now()) { // revoked meanwhile
		return Principal{}, ErrWrongToken
	}
	k.Uses = append(k.Uses, use)
	return l.guest(k, use), nil
}
