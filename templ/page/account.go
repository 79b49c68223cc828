package page

import (
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Account shows how a person signs in: by password and passkeys, and AHP clients by tokens.
type Account struct {
	Frame      part.Frame
	Now        time.Time
	Name       string // that one signs in by
	Owner      bool
	Bare       bool // there is no way to sign in again
	Password   bool // one is set
	CanPasskey bool // the address has a name that passkeys can belong to
	Error      string
	Passkeys   []Passkey
	New        string // the token that was just made; shown once
	TokenError string
	Tokens     []APIToken
}

// Passkey is one that signs in.
type Passkey struct {
	Key, Name, Host string
	Created, Used   time.Time
}

// APIToken is a personal token; what it is made of is not kept.
type APIToken struct {
	ID, Name               string
	Created, Expires, Used time.Time
}

func (t *APIToken) until(now time.Time) string {
	switch {
	case t.Expires.IsZero():
		return "never expires"
	case !now.Before(t.Expires):
		return "expired"
	}
	return "expires " + t.Expires.UTC().Format("2 January 2006")
}

func lastUsed(t time.Time) string {
	if t.IsZero() {
		return "never used"
	}
	return "last used " + when(t) + " UTC"
}
