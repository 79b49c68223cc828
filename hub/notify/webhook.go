package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
)

const (
	secretPrefix = "whsec_"
	mostAnswer   = 4 << 10 // bytes read of what a receiver answers
)

// payload is what is posted. docs/notifications.md has an example of it.
type payload struct {
	Version int     `json:"version"`
	ID      string  `json:"id"`
	Event   Kind    `json:"event"`
	At      string  `json:"at"`
	Title   string  `json:"title"`
	Text    string  `json:"text,omitempty"`
	URL     string  `json:"url"`
	Session inside  `json:"session"`
	By      *person `json:"by,omitempty"`
}

type inside struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type person struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

func payloadOf(x *Notice, public string) payload {
	p := payload{Version: 1, ID: x.ID, Event: x.Kind, At: x.At.UTC().Format(time.RFC3339), Title: x.Title, Text: x.Text,
		URL: strings.TrimSuffix(public, "/") + x.Path, Session: inside{x.Short, x.Session}}
	if x.By.ID != "" {
		p.By = &person{x.By.ID, x.By.Name}
	}
	return p
}

// sign is the signature of Standard Webhooks: over id, time and body, so that none of them can be another's.
func sign(secret, id string, at time.Time, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// deliverHook posts one notice.
func (n *Notifier) deliverHook(ctx context.Context, j *job) (string, error) {
	h, err := n.hook(ctx, j.Hook)
	if errors.Is(err, ErrNoHook) || len(j.Notices) == 0 {
		return "", final{ErrNoHook}
	}
	if err != nil {
		return "", err
	}
	x := &j.Notices[0]
	body, err := json.Marshal(payloadOf(x, n.cfg.Public()))
	if err != nil {
		return "", final{err}
	}
	status, err := n.post.send(ctx, &h, x.ID, body)
	if status == http.StatusGone {
		err = final{errors.New("the receiver answered 410 Gone, so nothing more is sent there; “Send a test” starts again")}
		h.Gone = err.Error()
		if kept := n.putHook(ctx, h); kept != nil {
			return "", kept
		}
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Delivered: the receiver answered %d", status), nil
}

// poster posts to addresses that people type in, which must not become a way into the network this host stands in.
type poster struct {
	allow  []netip.Prefix
	client *http.Client
}

func newPoster(allow []netip.Prefix, timeout time.Duration) *poster {
	p := &poster{allow: allow}
	transport := &http.Transport{
		Proxy:                  nil, // a proxy would look up the name itself
		DialContext:            p.dial,
		TLSHandshakeTimeout:    timeout,
		ResponseHeaderTimeout:  timeout,
		MaxResponseHeaderBytes: 16 << 10,
		DisableKeepAlives:      true, // a delivery is rare, and the next one looks at the address anew
		ForceAttemptHTTP2:      true,
	}
	p.client = &http.Client{Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return p
}

// check refuses what cannot be a webhook's address, before anything is kept.
func (p *poster) check(address string) error {
	u, err := url.Parse(address)
	if err != nil || len(address) > longestURL || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return errors.New("type the receiver's address as https://hooks.example.com/…, without a name and password in it")
	}
	if u.Scheme == "http" && len(p.allow) == 0 {
		return errors.New("use https: without it what is sent can be read on the way")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return p.mayReach(ip, u.Scheme == "http")
	}
	return nil
}

func (p *poster) send(ctx context.Context, h *Hook, id string, body []byte) (status int, err error) {
	now := time.Now()
	signature, err := sign(h.Secret, id, now, body)
	if err != nil {
		return 0, final{err}
	}
	req, err := http.NewRequestWithContext(withPlain(ctx, strings.HasPrefix(h.URL, "http://")), http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return 0, final{err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ahphub")
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("Webhook-Signature", signature)
	res, err := p.client.Do(req)
	if err != nil {
		return 0, plainError(err, h.Owner == access.Owner("").ID)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, mostAnswer) // what it says is not kept: it may be anything
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return res.StatusCode, nil
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return res.StatusCode, fmt.Errorf("the receiver answered %d: redirects are not followed, so type the address it leads to", res.StatusCode)
	}
	return res.StatusCode, later{fmt.Errorf("the receiver answered %d", res.StatusCode), retryAfter(res.Header)}
}

func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return min(time.Duration(min(s, 1<<20))*time.Second, longestWait)
}

// plainError is what a person can use of an error of net/http, without the address, which may hold a secret. What names of
// this network lead to is the owner's to know alone, and the name server nobody's.
func plainError(err error, owner bool) error {
	if refused, ok := errors.AsType[*refusedAddress](err); ok {
		if owner {
			return refused
		}
		return errors.New("this host may not send to that address: the owner can allow it with --notify-allow")
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return errors.New("the receiver did not answer in time")
		}
		err = u.Err
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsNotFound {
			return errors.New("the receiver cannot be reached: there is no such name")
		}
		return errors.New("the receiver cannot be reached: its name cannot be looked up now")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Errorf("the receiver cannot be reached: %w", err)
}
