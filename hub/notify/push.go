package notify

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/notify/webpush"
)

// pushLife is how long a push service keeps a message for an offline device.
const pushLife = 24 * time.Hour

// ourPage is the contact for servers without an https address: some push services require one.
const ourPage = "https://github.com/ahphub/ahphub"

// pushed is a notice in the format of static/js/service-worker.js.
type pushed struct {
	ID      string `json:"id"`
	Kind    Kind   `json:"kind"`
	Session string `json:"session,omitempty"`
	Title   string `json:"title"`
	Text    string `json:"text,omitempty"`
	Path    string `json:"path"`
}

// pushMessage encodes a notice. A path that is too long, because an agent chose its fragment, loses
// the fragment.
func pushMessage(x *Notice) ([]byte, error) {
	m := pushed{x.ID, x.Kind, x.Short, x.Heading(), x.Text, x.Path}
	if x.Kind == Test {
		m.Title = x.Title
	}
	raw, err := json.Marshal(m)
	if err == nil && len(raw) > webpush.MaxMessage {
		m.Path, _, _ = strings.Cut(m.Path, "#")
		raw, err = json.Marshal(m)
	}
	return raw, err
}

// deliverDevice pushes one notice, if its recipient may still have it.
func (n *Notifier) deliverDevice(ctx context.Context, j *job) (string, error) {
	d, err := n.device(ctx, j.Device)
	switch {
	case errors.Is(err, ErrNoDevice) || len(j.Notices) == 0:
		return "", final{ErrNoDevice}
	case err != nil:
		return "", err
	case d.locked || n.pushKey.Load() == nil:
		return "", final{ErrPushLocked}
	}
	if signedIn, err := n.isSignedIn(ctx, &d); err != nil {
		return "", err
	} else if !signedIn {
		return "", n.giveUpDevice(ctx, &d, ErrNoDevice)
	}
	x, wanted, err := n.stillHears(ctx, d.Owner, &j.Notices[0])
	if err != nil {
		return "", err
	}
	if !wanted {
		return "Nothing was sent: the last notification was answered or turned off before", nil
	}
	return n.push(ctx, &d, &x)
}

// stillHears reports whether a person should still get a notice: their rights, choices and the
// pending request may have changed since it was queued.
func (n *Notifier) stillHears(ctx context.Context, who string, x *Notice) (Notice, bool, error) {
	if x.Kind == Test {
		return *x, true, nil
	}
	told, _, ok, err := n.hears(ctx, who, Browser, x)
	return told, ok && !n.isAnswered(x), err
}

func (n *Notifier) push(ctx context.Context, d *Device, x *Notice) (string, error) {
	message, err := pushMessage(x)
	if err != nil {
		return "", final{err}
	}
	body, err := d.to.Encrypt(message)
	if err != nil {
		return "", final{err}
	}
	header, err := n.pushHeader(d, x)
	if err != nil {
		return "", final{err}
	}
	status, wait, err := n.post.send(ctx, d.to.Endpoint, header, body)
	if err != nil {
		return "", plainError(err, d.Owner == access.Owner("").ID)
	}
	return n.judgePush(ctx, d, status, wait)
}

// judgePush interprets the answer of a push service.
func (n *Notifier) judgePush(ctx context.Context, d *Device, status int, wait time.Duration) (string, error) {
	err := fmt.Errorf("the push service answered %d", status)
	switch {
	case status >= 200 && status < 300:
		return fmt.Sprintf("Delivered: the push service answered %d", status), nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return "", n.giveUpDevice(ctx, d, fmt.Errorf("%w: the browser unsubscribed", err))
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		return "", later{err, wait}
	}
	return "", final{fmt.Errorf("%w. Remove this device and enable push notifications there again", err)}
}

// giveUpDevice removes a device that can no longer receive messages.
func (n *Notifier) giveUpDevice(ctx context.Context, d *Device, why error) error {
	n.log.InfoContext(ctx, "a device for push notifications was removed", "device", d.ID, "owner", d.Owner, "err", why)
	if err := n.dropDevice(ctx, d); err != nil {
		return err
	}
	return final{why}
}

func (n *Notifier) pushHeader(d *Device, x *Notice) (http.Header, error) {
	endpoint, err := url.Parse(d.to.Endpoint)
	if err != nil {
		return nil, err
	}
	contact := n.cfg.Public()
	if !strings.HasPrefix(contact, "https://") {
		contact = ourPage
	}
	key := n.pushKey.Load()
	if key == nil {
		return nil, ErrPushLocked
	}
	token, err := key.Authorize(endpoint, contact, time.Now())
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	h.Set("Authorization", token)
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Encoding", "aes128gcm")
	h.Set("Ttl", strconv.Itoa(int(pushLife.Seconds())))
	h.Set("Urgency", urgencyOf(x.Kind))
	h.Set("Topic", topicOf(x))
	return h, nil
}

// urgencyOf returns high for notices that wait for a person, so that devices in power saving wake
// up.
func urgencyOf(k Kind) string {
	if k == Approval || k == Question || k == Test {
		return "high"
	}
	return "normal"
}

// topicOf returns the topic of a notice. Push services replace a pending message of the same topic,
// which stands for the same kind and session, as browsers do on screen.
func topicOf(x *Notice) string {
	sum := sha256.Sum256([]byte(x.Short + " " + string(x.Kind)))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}
