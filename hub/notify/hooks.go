package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/secret"
)

const (
	hookBucket = "notify-hook"
	longestURL = 2000
)

// Hook is a webhook. Its address, which often contains a token, and its signing secret are stored
// sealed.
type Hook struct {
	ID         string    `json:"id"`
	Owner      string    `json:"owner"`                // principal
	Everything bool      `json:"everything,omitempty"` // all notices of the host
	Format     Format    `json:"format,omitempty"`
	URL        string    `json:"url,omitempty"`    // stored only by earlier versions
	Secret     string    `json:"secret,omitempty"` // likewise
	Sealed     string    `json:"sealed,omitempty"` // URL and Secret: a hookSecrets
	Created    time.Time `json:"created"`
	Gone       string    `json:"gone,omitempty"` // the reason nothing is sent any more

	Last   *Result `json:"-"`
	locked bool    // the key of Sealed is missing
}

// hookSecrets is the sealed part of a webhook.
type hookSecrets struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

func (h *Hook) label() secret.Label { return secret.Label{Kind: "webhook", Owner: h.Owner, Name: h.ID} }

// ErrLockedHook reports a webhook that cannot be opened; nothing is sent to it.
var ErrLockedHook = errors.New("the key that this webhook's address and signing secret were sealed with is missing. " +
	"Restore the key and restart ahphub, or create the webhook again")

// Where returns the address for display and logs: some services put their secret into it.
func (h *Hook) Where() string {
	if h.locked {
		return "Locked webhook"
	}
	u, err := url.Parse(h.URL)
	if err != nil {
		return ""
	}
	where := u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		where += "/…"
	}
	return where
}

// NewHook creates a webhook with want's owner, address, format and scope. It returns the signing
// secret, which is shown only once; "" for unsigned formats.
func (n *Notifier) NewHook(ctx context.Context, want Hook) (Hook, string, error) {
	if err := n.post.check(want.URL); err != nil {
		return Hook{}, "", err
	}
	if err := want.Format.check(want.URL); err != nil {
		return Hook{}, "", err
	}
	n.hooks.Lock()
	defer n.hooks.Unlock()
	all, err := n.allHooks(ctx)
	if err != nil {
		return Hook{}, "", err
	}
	if same := len(slices.DeleteFunc(all,
		func(h Hook) bool { return h.Owner != want.Owner || h.Everything != want.Everything })); same >= n.cfg.Limits.Hooks {
		return Hook{}, "", fmt.Errorf("there are already %d webhooks. Remove one first", same)
	}
	var random [8]byte
	rand.Read(random[:])
	h := Hook{ID: hex.EncodeToString(random[:]), Owner: want.Owner, Everything: want.Everything,
		Format: want.Format, URL: want.URL, Secret: newSecret(), Created: time.Now().UTC()}
	shown := h.Secret
	if h.Format != FormatSigned {
		shown = ""
	}
	return h, shown, n.putHook(ctx, h)
}

// newSecret returns a secret in the format of Standard Webhooks libraries.
func newSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return secretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// putHook stores a webhook, sealed. It refuses a locked one.
func (n *Notifier) putHook(ctx context.Context, h Hook) error {
	if h.locked {
		return ErrLockedHook
	}
	plain, err := json.Marshal(hookSecrets{h.URL, h.Secret})
	if err != nil {
		return err
	}
	h.Sealed, h.URL, h.Secret = n.cfg.Keys.Seal(h.label(), plain), "", ""
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return n.cfg.Store.Put(ctx, hookBucket, h.ID, raw)
}

// openHook opens a webhook that was read. Without its key, the webhook is locked and marked as
// gone.
func (n *Notifier) openHook(h *Hook) error {
	if h.Sealed == "" {
		return nil
	}
	plain, err := n.cfg.Keys.Open(h.label(), h.Sealed)
	if secret.IsLocked(err) || errors.Is(err, secret.ErrDamaged) {
		h.locked, h.Gone = true, ErrLockedHook.Error()
		return nil
	}
	if err != nil {
		return err
	}
	var s hookSecrets
	if err := json.Unmarshal(plain, &s); err != nil {
		return fmt.Errorf("webhook %s: %w", h.ID, err)
	}
	h.URL, h.Secret = s.URL, s.Secret
	return nil
}

// Reseal seals all webhooks and devices with the newest key, including webhooks that an earlier
// version stored in plain text.
func (n *Notifier) Reseal(ctx context.Context) (changed, locked int, err error) {
	n.hooks.Lock()
	defer n.hooks.Unlock()
	changed, locked, err = n.resealDevices(ctx)
	if err != nil {
		return changed, locked, err
	}
	all, err := n.allHooks(ctx)
	for _, h := range all {
		switch {
		case h.locked:
			locked++
		case h.Sealed == "" || !n.cfg.Keys.IsCurrent(h.Sealed):
			err = errors.Join(err, n.putHook(ctx, h))
			changed++
		}
	}
	return changed, locked, err
}

// HasPlain reports whether webhooks of an earlier version are stored in plain text.
func (n *Notifier) HasPlain(ctx context.Context) (bool, error) {
	all, err := n.allHooks(ctx)
	return slices.ContainsFunc(all, func(h Hook) bool { return h.Sealed == "" }), err
}

// Hooks returns the webhooks of owner, oldest first, with the result of their last delivery.
func (n *Notifier) Hooks(ctx context.Context, owner string) ([]Hook, error) {
	all, err := n.allHooks(ctx)
	mine := slices.DeleteFunc(all, func(h Hook) bool { return h.Owner != owner })
	for i := range mine {
		if r, ok := n.last(ctx, mine[i].ID); ok {
			mine[i].Last = &r
		}
	}
	return mine, err
}

func (n *Notifier) allHooks(ctx context.Context) ([]Hook, error) {
	found, err := each[Hook](ctx, n.cfg.Store, hookBucket)
	all := make([]Hook, 0, len(found))
	for _, h := range found {
		err = errors.Join(err, n.openHook(&h))
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Hook) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// ErrNoHook reports that the owner has no such webhook.
var ErrNoHook = errors.New("this webhook does not exist or was removed")

func (n *Notifier) hook(ctx context.Context, id string) (h Hook, err error) {
	raw, found, err := n.cfg.Store.Get(ctx, hookBucket, id)
	if err == nil && !found {
		err = ErrNoHook
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return h, err
	}
	return h, n.openHook(&h)
}

func (n *Notifier) findHook(ctx context.Context, owner, id string) (Hook, error) {
	h, err := n.hook(ctx, id)
	if err == nil && h.Owner != owner {
		err = ErrNoHook
	}
	return h, err
}

// RemoveHook removes a webhook of owner with its pending jobs.
func (n *Notifier) RemoveHook(ctx context.Context, owner, id string) (Hook, error) {
	h, err := n.findHook(ctx, owner, id)
	if err != nil {
		return h, err
	}
	if err := n.cfg.Store.Delete(ctx, hookBucket, id); err != nil {
		return h, err
	}
	return h, n.dropTarget(id)
}

// TestHook sends a test to a webhook of owner; a webhook that was given up is active again from
// then on.
func (n *Notifier) TestHook(ctx context.Context, owner, id string) (Hook, error) {
	h, err := n.findHook(ctx, owner, id)
	if err != nil {
		return h, err
	}
	if h.Gone != "" {
		if h.Gone = ""; h.locked {
			return h, ErrLockedHook
		}
		if err := n.putHook(ctx, h); err != nil {
			return h, err
		}
	}
	return h, n.enqueue(hookJob(h.ID, testNotice(owner)))
}

func hookJob(hook string, x Notice) *job {
	return &job{key: x.ID + "/" + hook, Hook: hook, Notices: []Notice{x}, Due: time.Now().UTC()}
}
