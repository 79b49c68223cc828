package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/ahphub/ahphub/hub/texts"
)

// ErrSignedOut is the cause of a context that Bind ended: the browser was signed out.
var ErrSignedOut = errors.New("this browser has been signed out")

const longestAgent = 200

// Browser is a signed-in browser.
type Browser struct {
	Key string // identifies it to SignOutBrowser; the cookie cannot be derived from it
	Account
	Agent       string // User-Agent, at most 200 printable characters
	Since, Seen time.Time
	This        bool // the browser of the request
}

// Browsers lists the signed-in browsers, last seen first.
func (c *Cookies) Browsers(r *http.Request) ([]Browser, error) {
	this := c.Key(r)
	var out []Browser
	err := c.cfg.Store.Each(r.Context(), rowBucket, func(key string, b []byte) error {
		var kept row
		if json.Unmarshal(b, &kept) != nil || c.cfg.Now().Sub(c.seen.of(key, kept)) > c.cfg.Life {
			return nil // Sweep deletes it
		}
		out = append(out, Browser{key, kept.Account, kept.Agent, kept.Since, c.seen.of(key, kept), key == this})
		return nil
	})
	slices.SortFunc(out, func(a, b Browser) int {
		return cmp.Or(b.Seen.Compare(a.Seen), b.Since.Compare(a.Since), strings.Compare(a.Key, b.Key))
	})
	return out, err
}

// ErrNoBrowser reports that a browser is not signed in.
var ErrNoBrowser = errors.New("this browser is no longer signed in")

// SignOutBrowser signs a browser out and ends its open pages, or returns ErrNoBrowser.
func (c *Cookies) SignOutBrowser(ctx context.Context, key string) error {
	_, found, err := c.cfg.Store.Get(ctx, rowBucket, key)
	if err == nil && !found {
		err = ErrNoBrowser
	}
	if err != nil {
		return err
	}
	return c.forget(ctx, key)
}

// SignOutOthers signs out all other browsers of the caller's account, and returns their number.
func (c *Cookies) SignOutOthers(r *http.Request) (n int, err error) {
	all, err := c.Browsers(r)
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(all, func(b Browser) bool { return b.This })
	if at < 0 {
		return 0, ErrSignedOut
	}
	for _, b := range all {
		if b.This || b.ID != all[at].ID {
			continue
		}
		if err := c.forget(r.Context(), b.Key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// SignOutAccount signs out every browser of an account, for example a removed one, and returns
// their number.
func (c *Cookies) SignOutAccount(ctx context.Context, account string) (n int, err error) {
	var keys []string
	err = c.cfg.Store.Each(ctx, rowBucket, func(key string, b []byte) error {
		var kept row
		if json.Unmarshal(b, &kept) == nil && kept.ID == account {
			keys = append(keys, key)
		}
		return nil
	})
	for _, key := range keys {
		if err == nil {
			err = c.forget(ctx, key)
			n++
		}
	}
	return n, err
}

// Bind returns a context that ends with ErrSignedOut as its cause when the request's browser is
// signed out, so that its open pages end too. Call cancel when done.
func (c *Cookies) Bind(ctx context.Context, r *http.Request) (context.Context, context.CancelFunc) {
	key := c.Key(r)
	if key == "" {
		return context.WithCancel(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	leave := c.open.enter(key, end)
	return ctx, func() { leave(); end(context.Canceled) }
}

// Key returns the Browser.Key of a request; "" if its cookie is not valid.
func (c *Cookies) Key(r *http.Request) string {
	id := c.id(r)
	if id == "" {
		return ""
	}
	return rowKey(id)
}

// IsSignedIn reports whether an account is signed in with the browser that has this key.
func (c *Cookies) IsSignedIn(ctx context.Context, key, account string) (bool, error) {
	b, found, err := c.cfg.Store.Get(ctx, rowBucket, key)
	if err != nil || !found {
		return false, err
	}
	var kept row
	if err := json.Unmarshal(b, &kept); err != nil {
		return false, err
	}
	return kept.ID == account && c.cfg.Now().Sub(c.seen.of(key, kept)) <= c.cfg.Life, nil
}

// forget deletes a browser's row and ends its requests.
func (c *Cookies) forget(ctx context.Context, key string) error {
	err := c.drop(ctx, key)
	if err == nil {
		c.open.end(key)
	}
	return err
}

// openRequests holds the current requests, by browser.
type openRequests struct {
	mu    sync.Mutex
	byKey map[string]map[*context.CancelCauseFunc]struct{}
}

func (o *openRequests) enter(key string, end context.CancelCauseFunc) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byKey == nil {
		o.byKey = map[string]map[*context.CancelCauseFunc]struct{}{}
	}
	if o.byKey[key] == nil {
		o.byKey[key] = map[*context.CancelCauseFunc]struct{}{}
	}
	o.byKey[key][&end] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if delete(o.byKey[key], &end); len(o.byKey[key]) == 0 {
			delete(o.byKey, key)
		}
	}
}

func (o *openRequests) end(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for end := range o.byKey[key] {
		(*end)(ErrSignedOut)
	}
}

func agentName(r *http.Request) string {
	s := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, r.UserAgent())
	return texts.CutRunes(s, longestAgent)
}
