package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Redeem admits a guest by a token, under the name they give. The guest's id is stable: keep it in
// their cookie and pass it to Principal from then on.
func (l *Links) Redeem(ctx context.Context, token, name string) (Principal, error) {
	name, err := CleanName(name)
	if err != nil {
		return Principal{}, err
	}
	k, err := l.findByToken(token)
	if err != nil {
		return Principal{}, err
	}
	if k.SignIn {
		return Principal{}, ErrSignIn
	}
	return l.admit(ctx, k, Use{Guest: "guest:" + newToken(9), Name: name})
}

// RedeemAs admits a person with an account under their own name. Repeated visits count as one use.
func (l *Links) RedeemAs(ctx context.Context, token string, who Principal) (Principal, error) {
	k, err := l.findByToken(token)
	if err != nil {
		return Principal{}, err
	}
	if !who.HasAccount() {
		return Principal{}, ErrSignIn
	}
	return l.admit(ctx, k, Use{Guest: who.ID, Name: who.Name})
}

// Bearer returns the principal of an AHP client that shows a link's token instead of a cookie. The
// principal is provisional until Admit learns the client's id.
func (l *Links) Bearer(token string) (Principal, error) {
	k, err := l.findByToken(token)
	if err != nil {
		return Principal{}, err
	}
	if k.SignIn {
		return Principal{}, ErrSignIn
	}
	return l.guest(k, Use{Guest: bearerPrefix + k.ID, Name: cmp.Or(k.Label, "Guest")}), nil
}

const bearerPrefix = "link:" // prefix of the principal ids of clients that have not sent their id yet

// Admit turns the bearer of a link's token into one guest per client: the same clientId is one use
// of the link. It returns any other principal unchanged. Clients can choose new ids freely, so once
// a link without a limit is full its further clients share one guest.
func (l *Links) Admit(ctx context.Context, p Principal, clientID, name string) (Principal, error) {
	k := l.find(p.Link)
	if k == nil || !p.IsBearer() {
		return p, nil
	}
	clean, err := CleanName(name)
	switch {
	case err != nil:
		clean = p.Name
	case k.Label != "":
		clean = k.Label + " (" + clean + ")"
	}
	guest, err := l.admit(ctx, k, Use{Guest: "guest:" + newToken(9), Name: clean, Client: clientID})
	if err != nil && k.MaxUses == 0 && k.isFull(l) {
		return p, nil
	}
	return guest, err
}

func (k *link) isFull(l *Links) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.IsLive(l.now()) && len(k.Uses)+len(k.entering) >= k.maxUses()
}

func (l *Links) findByToken(token string) (*link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.hash[hashToken(token)]
	if k == nil || !k.IsLive(l.now()) {
		return nil, ErrWrongToken
	}
	return k, nil
}

// isSame reports whether two uses belong to the same person or client.
func (u Use) isSame(v Use) bool { return u.key() == v.key() }

func (u Use) key() string {
	if u.Client != "" {
		return "client " + u.Client
	}
	return u.Guest
}

// admit admits a new or returning guest. It reserves a place while the use is written; a concurrent
// second arrival waits for the first.
func (l *Links) admit(ctx context.Context, k *link, use Use) (Principal, error) {
	for {
		p, wait, err := l.reservePlace(k, use)
		if p.IsKnown() || err != nil {
			return p, err
		}
		if wait == nil {
			return l.writeUse(ctx, k, use)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return Principal{}, context.Cause(ctx)
		}
	}
}

// reservePlace returns a returning guest, or a channel to wait for, or reserves a place.
func (l *Links) reservePlace(k *link, use Use) (who Principal, wait <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !k.IsLive(l.now()) {
		return who, nil, ErrWrongToken
	}
	if i := slices.IndexFunc(k.Uses, use.isSame); i >= 0 {
		return l.guest(k, k.Uses[i]), nil, nil
	}
	if first := k.entering[use.key()]; first != nil {
		return who, first, nil
	}
	if n := len(k.Uses) + len(k.entering); n >= k.maxUses() {
		return who, nil, fmt.Errorf("%w: it admitted %d. Ask for a new link", ErrUsedUp, n)
	}
	k.entering[use.key()] = make(chan struct{})
	return who, nil, nil
}

func (l *Links) writeUse(ctx context.Context, k *link, use Use) (Principal, error) {
	use.At = l.now().UTC()
	err := keep(ctx, l.store, useBucket, k.ID+"/"+use.Guest, use, func(key string, value []byte) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.releaseReservedPlace(k, use) // the use now counts
		return l.addUse(key, value)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releaseReservedPlace(k, use)
	if err != nil {
		return Principal{}, err
	}
	if !k.IsLive(l.now()) { // revoked during the write
		return Principal{}, ErrWrongToken
	}
	return l.guest(k, use), nil
}

// releaseReservedPlace releases the place reserved while a use was written; l.mu is held.
func (l *Links) releaseReservedPlace(k *link, use Use) {
	if wait := k.entering[use.key()]; wait != nil {
		close(wait)
		delete(k.entering, use.key())
	}
}
