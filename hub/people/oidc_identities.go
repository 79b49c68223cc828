package people

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const (
	identityBucket = "identity"
	identityPrefix = "person:oidc-"
	// identityFresh is how long claims are valid: a person removed at the provider loses access
	// here within a week.
	identityFresh = 7 * 24 * time.Hour
)

// Identity is a person identified by a provider.
type Identity struct {
	ID string `json:"id"` // principal id: "person:oidc-…", derived from issuer and subject, never from an e-mail address
	Claims
	First time.Time `json:"first"` // first sign-in
	Last  time.Time `json:"last"`
}

// Identities stores people's claims from their last sign-in, so that the rules can be evaluated at
// each visit.
type Identities struct {
	Store Store
	Now   func() time.Time // default time.Now
}

func (i Identities) now() time.Time {
	if i.Now == nil {
		return time.Now().UTC()
	}
	return i.Now().UTC()
}

// identityID returns a unique id for a subject of an issuer.
func identityID(issuer, subject string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(issuer), issuer, subject))
	return identityPrefix + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// IsIdentity reports whether a provider identifies this account.
func IsIdentity(account string) bool { return strings.HasPrefix(account, identityPrefix) }

// Save stores the claims about a person who signs in.
func (i Identities) Save(ctx context.Context, c Claims) (Identity, error) {
	id, now := identityID(c.Issuer, c.Subject), i.now()
	kept, found, err := i.read(ctx, id)
	if err != nil {
		return Identity{}, err
	}
	made := Identity{ID: id, Claims: c, First: now, Last: now}
	if found {
		made.First = kept.First
	}
	b, err := json.Marshal(made)
	if err != nil {
		return Identity{}, err
	}
	return made, i.Store.Put(ctx, identityBucket, id, b)
}

// Get returns a person while their claims are valid.
func (i Identities) Get(ctx context.Context, id string) (Identity, bool, error) {
	kept, found, err := i.read(ctx, id)
	return kept, found && i.now().Sub(kept.Last) < identityFresh, err
}

func (i Identities) read(ctx context.Context, id string) (kept Identity, found bool, err error) {
	b, found, err := i.Store.Get(ctx, identityBucket, id)
	if err != nil || !found {
		return Identity{}, false, err
	}
	return kept, true, json.Unmarshal(b, &kept)
}
