package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/notify/webpush"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	deviceBucket  = "notify-device"
	pushKeyBucket = "notify-push"
	pushKeyName   = "key"
	longestAgent  = 200
)

// Subscription is the address and the keys that a browser gives for its push messages.
type Subscription = webpush.Subscription

// Device is a signed-in browser that receives push messages. Its address and encryption keys are
// stored sealed.
type Device struct {
	ID      string    `json:"id"`
	Owner   string    `json:"owner"`   // principal
	Browser string    `json:"browser"` // its id for Config.SignedIn
	Agent   string    `json:"agent,omitempty"`
	Created time.Time `json:"created"`
	Sealed  string    `json:"sealed"` // a webpush.Subscription

	Last   *Result              `json:"-"`
	to     webpush.Subscription // after opening
	locked bool                 // the key of Sealed is missing
}

func (d *Device) label() secret.Label { return secret.Label{Kind: "push", Owner: d.Owner, Name: d.ID} }

func (d *Device) target() string { return "push:" + d.ID }

// Service returns the name of the push service, for display and the audit: the rest of the address is a secret.
func (d *Device) Service() string {
	u, err := url.Parse(d.to.Endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// deviceID returns the device id of a browser. The browser's cookie cannot be derived from it.
func deviceID(browser string) string { return id("device", browser)[:16] }

// RefusedError describes a problem with a device, and its remedy.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

func refusef(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

var (
	// ErrNoDevice reports that the owner has no such device.
	ErrNoDevice = errors.New("this device was removed or signed out")
	// ErrPushLocked reports that messages cannot be signed, or a device's address cannot be opened.
	ErrPushLocked = refusef("the key that push notifications were sealed with is missing. Restore the key and restart " +
		"ahphub, or have the owner create a new key in the notification settings")
	errPushEndpoint = refusef("this browser's push service has an address that can't be used here. Use a browser " +
		"whose push service is reached by https")
)

var pushKeyLabel = secret.Label{Kind: "push", Name: "key"}

// OpenPush reads or creates the key that signs push messages; call it once the store can be
// written. If the key that seals it is missing, only push is unavailable.
func (n *Notifier) OpenPush(ctx context.Context) error {
	sealed, found, err := n.cfg.Store.Get(ctx, pushKeyBucket, pushKeyName)
	if err != nil {
		return err
	}
	if !found {
		return n.makePushKey(ctx)
	}
	raw, err := n.cfg.Keys.Open(pushKeyLabel, string(sealed))
	if secret.IsLocked(err) || errors.Is(err, secret.ErrDamaged) {
		n.log.ErrorContext(ctx, "no push notification can be sent until the key of secrets is back", "err", err)
		return nil
	}
	if err != nil {
		return err
	}
	key, err := webpush.ParseKey(raw)
	if err == nil {
		n.pushKey.Store(key)
	}
	return err
}

func (n *Notifier) makePushKey(ctx context.Context) error {
	key, err := webpush.NewKey()
	if err != nil {
		return err
	}
	raw, err := key.Bytes()
	if err != nil {
		return err
	}
	if err := n.cfg.Store.Put(ctx, pushKeyBucket, pushKeyName, []byte(n.cfg.Keys.Seal(pushKeyLabel, raw))); err != nil {
		return err
	}
	n.pushKey.Store(key)
	return nil
}

// PushKey returns the public key for browsers' subscriptions; "" while the server's key is locked.
func (n *Notifier) PushKey() string {
	key := n.pushKey.Load()
	if key == nil {
		return ""
	}
	return key.Public()
}

// ResetPush replaces a key that cannot be unlocked. Browsers subscribed to the old one, so all
// devices are removed.
func (n *Notifier) ResetPush(ctx context.Context) error {
	n.hooks.Lock()
	defer n.hooks.Unlock()
	if n.pushKey.Load() != nil {
		return refusef("push notifications have their key. Nothing was changed")
	}
	all, err := n.allDevices(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if err := n.dropDevice(ctx, &all[i]); err != nil {
			return err
		}
	}
	return n.makePushKey(ctx)
}

// checkEndpoint refuses addresses that cannot be a push service's. It requires TLS, except on this
// computer if the owner allows that.
func (p *poster) checkEndpoint(endpoint string) error {
	if err := p.check(endpoint); err != nil {
		return errPushEndpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return errPushEndpoint
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme != "https" && (err != nil || !ip.IsLoopback()) {
		return errPushEndpoint
	}
	return nil
}

// AddDevice starts sending a person's notifications to a browser. A new subscription replaces the
// browser's previous one.
func (n *Notifier) AddDevice(ctx context.Context, d Device, to Subscription) (Device, error) {
	switch {
	case n.pushKey.Load() == nil:
		return d, ErrPushLocked
	case d.Browser == "":
		return d, refusef("sign in with this browser first")
	}
	if err := n.post.checkEndpoint(to.Endpoint); err != nil {
		return d, err
	}
	if err := to.Check(); err != nil {
		return d, refusef("%s", err)
	}
	n.hooks.Lock()
	defer n.hooks.Unlock()
	all, err := n.allDevices(ctx)
	if err != nil {
		return d, err
	}
	d.ID, d.Agent, d.to, d.Created = deviceID(d.Browser), texts.CutRunes(clean(d.Agent), longestAgent), to, time.Now().UTC()
	same := 0
	for _, have := range all {
		if have.Owner == d.Owner && have.ID != d.ID {
			same++
		}
	}
	if same >= n.cfg.Limits.Devices {
		return d, refusef("there are already %d devices. Remove one first", same)
	}
	return d, n.putDevice(ctx, d)
}

// putDevice stores a device, sealed. It refuses a locked one.
func (n *Notifier) putDevice(ctx context.Context, d Device) error {
	if d.locked {
		return ErrPushLocked
	}
	plain, err := json.Marshal(d.to)
	if err != nil {
		return err
	}
	d.Sealed = n.cfg.Keys.Seal(d.label(), plain)
	raw, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return n.cfg.Store.Put(ctx, deviceBucket, d.ID, raw)
}

func (n *Notifier) openDevice(d *Device) error {
	plain, err := n.cfg.Keys.Open(d.label(), d.Sealed)
	if secret.IsLocked(err) || errors.Is(err, secret.ErrDamaged) {
		d.locked = true
		return nil
	}
	if err == nil {
		err = json.Unmarshal(plain, &d.to)
	}
	return err
}

// allDevices returns every device, unopened.
func (n *Notifier) allDevices(ctx context.Context) ([]Device, error) {
	found, err := each[Device](ctx, n.cfg.Store, deviceBucket)
	all := make([]Device, 0, len(found))
	for _, d := range found {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Device) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return all, err
}

// Devices returns owner's signed-in devices, oldest first, with their last delivery's result.
func (n *Notifier) Devices(ctx context.Context, owner string) (mine []Device, err error) {
	all, err := n.allDevices(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.Owner != owner {
			continue
		}
		signedIn, err := n.isSignedIn(ctx, &d)
		if err != nil {
			return nil, err
		}
		if !signedIn {
			continue // SweepDevices removes it
		}
		if err := n.openDevice(&d); err != nil {
			return nil, err
		}
		if r, ok := n.last(ctx, d.target()); ok {
			d.Last = &r
		}
		mine = append(mine, d)
	}
	return mine, nil
}

func (n *Notifier) isSignedIn(ctx context.Context, d *Device) (bool, error) {
	if n.cfg.SignedIn == nil {
		return false, nil
	}
	return n.cfg.SignedIn(ctx, d.Browser, d.Owner)
}

// PushesTo reports whether a browser gets a person's notifications by push, so that its pages show
// none.
func (n *Notifier) PushesTo(ctx context.Context, owner, browser string) bool {
	if browser == "" || n.pushKey.Load() == nil {
		return false
	}
	d, err := n.device(ctx, deviceID(browser))
	return err == nil && d.Owner == owner && d.Browser == browser && !d.locked
}

// device returns an opened device.
func (n *Notifier) device(ctx context.Context, id string) (d Device, err error) {
	raw, found, err := n.cfg.Store.Get(ctx, deviceBucket, id)
	if err == nil && !found {
		err = ErrNoDevice
	}
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, err
	}
	return d, n.openDevice(&d)
}

func (n *Notifier) findDevice(ctx context.Context, owner, id string) (Device, error) {
	d, err := n.device(ctx, id)
	if err == nil && d.Owner != owner {
		err = ErrNoDevice
	}
	return d, err
}

// RemoveDevice removes a device of owner and its pending jobs.
func (n *Notifier) RemoveDevice(ctx context.Context, owner, id string) (Device, error) {
	d, err := n.findDevice(ctx, owner, id)
	if err != nil {
		return d, err
	}
	return d, n.dropDevice(ctx, &d)
}

func (n *Notifier) dropDevice(ctx context.Context, d *Device) error {
	if err := n.cfg.Store.Delete(ctx, deviceBucket, d.ID); err != nil {
		return err
	}
	return n.dropTarget(d.target())
}

// dropTarget deletes the pending jobs and the last result of a target.
func (n *Notifier) dropTarget(target string) error {
	return n.cfg.Hub.Do(func(tx *hub.Tx) {
		tx.Record(resultBucket, target, nil)
		n.mu.Lock()
		defer n.mu.Unlock()
		for key, j := range n.jobs {
			if j.target() == target {
				delete(n.jobs, key)
				tx.Record(jobBucket, key, nil)
			}
		}
	})
}

// SweepDevices removes the devices of signed-out browsers; call it at start and regularly.
func (n *Notifier) SweepDevices(ctx context.Context) error {
	all, err := n.allDevices(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range all {
		signedIn, err := n.isSignedIn(ctx, &all[i])
		if err == nil && !signedIn {
			err = n.dropDevice(ctx, &all[i])
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TestDevice sends a test message to a device of owner.
func (n *Notifier) TestDevice(ctx context.Context, owner, id string) (Device, error) {
	d, err := n.findDevice(ctx, owner, id)
	if err != nil {
		return d, err
	}
	if d.locked || n.pushKey.Load() == nil {
		return d, ErrPushLocked
	}
	return d, n.enqueue(deviceJob(d.ID, testNotice(owner)))
}

func deviceJob(device string, x Notice) *job {
	return &job{key: x.ID + "/" + device, Device: device, Notices: []Notice{x}, Due: time.Now().UTC()}
}

// testNotice returns the notice of the test buttons.
func testNotice(owner string) Notice {
	return Notice{ID: rand.Text(), Kind: Test, At: time.Now().UTC(), Title: said[Test], Session: "No session",
		Text: "Sent from the notification settings", Path: "/settings/notifications", By: review.Person{ID: owner}}
}

// resealDevices seals the signing key and all devices with the newest key.
func (n *Notifier) resealDevices(ctx context.Context) (changed, locked int, err error) {
	sealed, found, err := n.cfg.Store.Get(ctx, pushKeyBucket, pushKeyName)
	if err != nil {
		return 0, 0, err
	}
	if found {
		again, isNew, err := n.cfg.Keys.Reseal(pushKeyLabel, string(sealed))
		switch {
		case secret.IsLocked(err) || errors.Is(err, secret.ErrDamaged):
			locked++
		case err != nil:
			return changed, locked, err
		case isNew:
			if err := n.cfg.Store.Put(ctx, pushKeyBucket, pushKeyName, []byte(again)); err != nil {
				return changed, locked, err
			}
			changed++
		}
	}
	all, err := n.allDevices(ctx)
	for i := range all {
		d := &all[i]
		if n.cfg.Keys.IsCurrent(d.Sealed) {
			continue
		}
		err = errors.Join(err, n.openDevice(d))
		if d.locked {
			locked++
			continue
		}
		err = errors.Join(err, n.putDevice(ctx, *d))
		changed++
	}
	return changed, locked, err
}
