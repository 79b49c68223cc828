package people

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"
)

const (
	cookieName = "ahphub"
	rowBucket  = "cookie"
	idKey      = "id"
	touchEvery = time.Hour
)

// Config of Cookies. Zero fields take the stated default.
type Config struct {
	Store  Store
	Key    []byte           // signs cookies: 32 bytes or more
	Secure bool             // pages are served over https only
	Life   time.Duration    // time without a visit: 30 days
	Now    func() time.Time // default time.Now
}

// Cookies signs people in and out. A cookie contains a signed random id. The account is in a row of
// the store under the id's hash, so that a sign-in survives a restart and can be revoked, and
// access to the store is not enough to forge a cookie.
type Cookies struct {
	cfg   Config
	store *sessions.CookieStore
	open  openRequests
	seen  lastSeen
}

// New returns Cookies; it requires a store and a key.
func New(cfg Config) (*Cookies, error) {
	if cfg.Store == nil || len(cfg.Key) < 32 {
		return nil, errors.New("people: cookies need a store and a key of at least 32 bytes")
	}
	if cfg.Life == 0 {
		cfg.Life = 30 * 24 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &Cookies{cfg: cfg, store: sessions.NewCookieStore(cfg.Key), seen: lastSeen{at: map[string]time.Time{},
		unsaved: map[string]bool{}}}
	c.store.Options = &sessions.Options{Path: "/", HttpOnly: true, Secure: cfg.Secure, SameSite: http.SameSiteLaxMode}
	c.store.MaxAge(int(cfg.Life / time.Second))
	return c, nil
}

// NewKey returns a random key for Config.
func NewKey() []byte { return securecookie.GenerateRandomKey(32) }

// SignIn sets a cookie for an account. The id is always new, so that a planted cookie is useless;
// the row of this browser's older cookie is deleted.
func (c *Cookies) SignIn(w http.ResponseWriter, r *http.Request, a Account) error {
	old := c.id(r)
	id := newID()
	now := c.cfg.Now().UTC()
	b, err := json.Marshal(row{Account: a, Since: now, Seen: now, Agent: agentName(r)})
	if err != nil {
		return err
	}
	if err := c.cfg.Store.Put(r.Context(), rowBucket, rowKey(id), b); err != nil {
		return err
	}
	if old != "" {
		if err := c.forget(r.Context(), rowKey(old)); err != nil {
			return err
		}
	}
	s, _ := c.store.New(r, cookieName) // an invalid old cookie is replaced
	s.Values = map[any]any{idKey: id}
	s.Options.Secure = c.cfg.Secure || Secure(r)
	return s.Save(r, w)
}

// Secure reports whether a request came over TLS: to this server, or to a trusted proxy, which is
// recorded in the request's URL.
func Secure(r *http.Request) bool { return r.TLS != nil || r.URL.Scheme == "https" }

// Account returns the account of a request; false without a valid sign-in. If w is not nil, it
// renews the cookie; w is nil where the response's headers are not ours.
func (c *Cookies) Account(w http.ResponseWriter, r *http.Request) (Account, bool, error) {
	id := c.id(r)
	if id == "" {
		return Account{}, false, nil
	}
	b, found, err := c.cfg.Store.Get(r.Context(), rowBucket, rowKey(id))
	if err != nil || !found {
		return Account{}, false, err
	}
	var kept row
	if err := json.Unmarshal(b, &kept); err != nil {
		return Account{}, false, err
	}
	age := c.cfg.Now().Sub(c.seen.of(rowKey(id), kept))
	if age > c.cfg.Life {
		return Account{}, false, nil // Sweep deletes it
	}
	if w != nil && age > touchEvery {
		c.renew(w, r, id)
	}
	return kept.Account, true, nil
}

// renew records a visit and sends the cookie again.
func (c *Cookies) renew(w http.ResponseWriter, r *http.Request, id string) {
	c.seen.note(rowKey(id), c.cfg.Now().UTC())
	s, _ := c.store.New(r, cookieName)
	s.Values = map[any]any{idKey: id}
	s.Options.Secure = c.cfg.Secure || Secure(r)
	_ = s.Save(r, w)
}

// SignOut revokes the cookie of a request.
func (c *Cookies) SignOut(w http.ResponseWriter, r *http.Request) error {
	if id := c.id(r); id != "" {
		if err := c.forget(r.Context(), rowKey(id)); err != nil {
			return err
		}
	}
	s, _ := c.store.New(r, cookieName)
	s.Values = map[any]any{}
	s.Options.MaxAge = -1
	return s.Save(r, w)
}

// id returns the id in the request's cookie if its signature is valid.
func (c *Cookies) id(r *http.Request) string {
	s, err := c.store.New(r, cookieName)
	if err != nil {
		return ""
	}
	id, _ := s.Values[idKey].(string)
	return id
}

func newID() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func rowKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}
