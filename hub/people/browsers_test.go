package people

import (
	"context"
	"errors"
	"net/http"
	"testing"
)

func (b *browser) request(f func(*http.Request)) {
	b.do(func(_ http.ResponseWriter, r *http.Request) { f(r) })
}

func TestSignOutEverywhereElse(t *testing.T) {
	m := &memory{docs: map[string][]byte{}}
	c := cookies(t, m, nil)
	here, there, guest := &browser{t: t, c: c}, &browser{t: t, c: c}, &browser{t: t, c: c}
	here.signIn(Account{ID: "owner"})
	there.signIn(Account{ID: "owner"})
	guest.signIn(Account{ID: "guest:1", Name: "Ana", Link: "l"})
	var open context.Context
	var done context.CancelFunc
	there.request(func(r *http.Request) { open, done = c.Bind(r.Context(), r) })
	defer done()
	here.request(func(r *http.Request) {
		list, err := c.Browsers(r)
		if err != nil || len(list) != 3 {
			t.Fatalf("signed in are %+v, %v", list, err)
		}
		this := 0
		for _, b := range list {
			if b.This {
				this++
			}
		}
		if this != 1 {
			t.Errorf("%d of them are this browser", this)
		}
		if n, err := c.SignOutOthers(r); n != 1 || err != nil {
			t.Errorf("%d were signed out, %v", n, err)
		}
	})
	if here.who() != "owner" || there.who() != "" || guest.who() != "guest:1" {
		t.Errorf("in are %q, %q, %q", here.who(), there.who(), guest.who())
	}
	if !errors.Is(context.Cause(open), ErrSignedOut) {
		t.Errorf("what the other browser had open goes on: %v", context.Cause(open))
	}
}

func TestSignOutOneBrowser(t *testing.T) {
	m := &memory{docs: map[string][]byte{}}
	c := cookies(t, m, nil)
	here, guest := &browser{t: t, c: c}, &browser{t: t, c: c}
	here.signIn(Account{ID: "owner"})
	guest.signIn(Account{ID: "guest:1", Name: "Ana", Link: "l"})
	here.request(func(r *http.Request) {
		list, _ := c.Browsers(r)
		for _, b := range list {
			if b.Name == "Ana" {
				if err := c.SignOutBrowser(r.Context(), b.Key); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if here.who() != "owner" || guest.who() != "" {
		t.Errorf("in are %q and %q", here.who(), guest.who())
	}
	guest.request(func(r *http.Request) {
		if _, err := c.SignOutOthers(r); !errors.Is(err, ErrSignedOut) {
			t.Errorf("somebody who is out signs others out: %v", err)
		}
	})
	here.request(func(r *http.Request) { ctx, done := c.Bind(r.Context(), r); done(); _ = ctx })
	if len(c.open.byKey) != 0 {
		t.Errorf("%d requests are kept after their end", len(c.open.byKey))
	}
}
