package people

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

type memory struct {
	mu   sync.Mutex
	docs map[string][]byte
	fail error
}

func (m *memory) Put(_ context.Context, bucket, key string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.docs[bucket+"\x00"+key] = v
	}
	return m.fail
}

func (m *memory) Get(_ context.Context, bucket, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.docs[bucket+"\x00"+key]
	return v, ok, nil
}

func (m *memory) Delete(_ context.Context, bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.docs, bucket+"\x00"+key)
	return nil
}

func (m *memory) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for k := range m.docs {
		if strings.HasPrefix(k, bucket+"\x00") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if err := visit(strings.TrimPrefix(k, bucket+"\x00"), m.docs[k]); err != nil {
			return err
		}
	}
	return nil
}

// browser keeps cookies between calls.
type browser struct {
	t       *testing.T
	c       *Cookies
	cookies []*http.Cookie
}

func (b *browser) do(f func(http.ResponseWriter, *http.Request)) {
	b.t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	f(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		b.cookies = set
	}
}

func (b *browser) signIn(a Account) {
	b.t.Helper()
	b.do(func(w http.ResponseWriter, r *http.Request) {
		if err := b.c.SignIn(w, r, a); err != nil {
			b.t.Fatal(err)
		}
	})
}

func (b *browser) who() (got string) {
	b.t.Helper()
	b.do(func(w http.ResponseWriter, r *http.Request) {
		a, ok, err := b.c.Account(w, r)
		if err != nil {
			b.t.Fatal(err)
		}
		if ok {
			got = a.ID
		}
	})
	return got
}

func cookies(t *testing.T, m *memory, now func() time.Time) *Cookies {
	t.Helper()
	c, err := New(Config{Store: m, Key: []byte(strings.Repeat("k", 32)), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCookieSurvivesRestart(t *testing.T) {
	m := &memory{docs: map[string][]byte{}}
	b := &browser{t: t, c: cookies(t, m, nil)}
	if got := b.who(); got != "" {
		t.Fatalf("before signing in it is %q", got)
	}
	b.signIn(Account{ID: "owner"})
	b.c = cookies(t, m, nil)
	if got := b.who(); got != "owner" {
		t.Errorf("after a restart it is %q", got)
	}
	c := b.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
		t.Errorf("the cookie is %v", c)
	}
	for k, v := range m.docs {
		if strings.Contains(c.Value, k) || strings.Contains(string(v), c.Value) {
			t.Errorf("the store tells what the cookie is: %q %s", k, v)
		}
	}
}

func TestSigningOutIsAtOnceAndForCopiesToo(t *testing.T) {
	m := &memory{docs: map[string][]byte{}}
	b := &browser{t: t, c: cookies(t, m, nil)}
	b.signIn(Account{ID: "owner"})
	copied := &browser{t: t, c: b.c, cookies: b.cookies}
	b.do(func(w http.ResponseWriter, r *http.Request) {
		if err := b.c.SignOut(w, r); err != nil {
			t.Fatal(err)
		}
	})
	if b.who() != "" || copied.who() != "" || len(m.docs) != 0 {
		t.Errorf("still signed in: %q, the copy %q, %d rows", b.who(), copied.who(), len(m.docs))
	}
}

func TestSigningInMakesANewCookie(t *testing.T) {
	m := &memory{docs: map[string][]byte{}}
	b := &browser{t: t, c: cookies(t, m, nil)}
	b.signIn(Account{ID: "guest:1"})
	before := &browser{t: t, c: b.c, cookies: b.cookies}
	b.signIn(Account{ID: "owner"})
	if b.who() != "owner" || before.who() != "" {
		t.Errorf("the new cookie is %q, the old one %q", b.who(), before.who())
	}
}

func TestForgedCookies(t *testing.T) {
	m := &memory{docs: map[string][]byte{}}
	b := &browser{t: t, c: cookies(t, m, nil)}
	b.signIn(Account{ID: "owner"})
	value := b.cookies[0].Value
	for _, v := range []string{"", "x", value + "x", value[:len(value)-2], strings.ToUpper(value)} {
		forger := &browser{t: t, c: b.c, cookies: []*http.Cookie{{Name: cookieName, Value: v}}}
		if got := forger.who(); got != "" {
			t.Errorf("%q is taken for %q", v, got)
		}
	}
	other, err := New(Config{Store: m, Key: []byte(strings.Repeat("x", 32))})
	if err != nil {
		t.Fatal(err)
	}
	if got := (&browser{t: t, c: other, cookies: b.cookies}).who(); got != "" {
		t.Errorf("a cookie of another key is taken for %q", got)
	}
}

func TestSlidingExpiry(t *testing.T) {
	now := time.Now()
	m := &memory{docs: map[string][]byte{}}
	b := &browser{t: t, c: cookies(t, m, func() time.Time { return now })}
	b.signIn(Account{ID: "owner"})
	for range 4 { // 80 days with a visit every 20
		now = now.Add(20 * 24 * time.Hour)
		b.c.store.MaxAge(0) // securecookie reads the real clock
		if got := b.who(); got != "owner" {
			t.Fatal("signed out in spite of visits")
		}
	}
	now = now.Add(31 * 24 * time.Hour)
	if got := b.who(); got != "" {
		t.Errorf("signed in after 31 days away as %q", got)
	}
	b.signIn(Account{ID: "owner"})
	now = now.Add(31 * 24 * time.Hour)
	if err := b.c.Sweep(t.Context()); err != nil || len(m.docs) != 0 {
		t.Errorf("%d rows are left after sweeping, %v", len(m.docs), err)
	}
}

func TestReadOnlyStoreKeepsPeopleIn(t *testing.T) {
	now := time.Now()
	m := &memory{docs: map[string][]byte{}}
	b := &browser{t: t, c: cookies(t, m, func() time.Time { return now })}
	b.signIn(Account{ID: "owner"})
	m.fail = errors.New("disk full")
	now = now.Add(2 * time.Hour)
	if got := b.who(); got != "owner" {
		t.Errorf("a full disk signed the owner out: %q", got)
	}
}
