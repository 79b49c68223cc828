package page

import (
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

// Account shows the ways to sign in: password and passkeys, and tokens for AHP clients.
type Account struct {
	Frame      part.Frame
	Now        time.Time
	Name       string // to sign in with
	Owner      bool
	Bare       bool // no way to sign in again
	Password   bool // is set
	CanPasskey bool // the address has a host name, which passkeys need
	Error      string
	Passkeys   []Passkey
	New        string // the new token; shown once
	TokenError string
	Tokens     []APIToken
}

// Passkey is a passkey of the account.
type Passkey struct {
	Key, Name, Host string
	Created, Used   time.Time
}

// APIToken is a personal token, without its secret, which is not stored.
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
