package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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
	maxAnswer    = 4 << 10 // bytes read of a receiver's answer
)

// payload is the body of a webhook. docs/notifications.md has an example.
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

// sign returns the signature of Standard Webhooks, over id, time and body.
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
	if err == nil && h.locked {
		err = final{ErrLockedHook}
	}
	if err != nil {
		return "", err
	}
	x := &j.Notices[0]
	p := payloadOf(x, n.cfg.Public())
	target, body, err := h.Format.encode(h.URL, &p)
	if err != nil {
		return "", final{err}
	}
	to := h
	to.URL = target
	status, err := n.post.sendHook(ctx, &to, x.ID, body)
	if status == http.StatusGone {
		err = final{errors.New("the receiver answered 410 Gone, so this webhook is paused. Use “Send test” to resume it")}
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

// poster posts to addresses that people enter; it must not give access to the host's network.
type poster struct {
	allow  []netip.Prefix
	client *http.Client
}

func newPoster(allow []netip.Prefix, timeout time.Duration) *poster {
	p := &poster{allow: allow}
	transport := &http.Transport{
		Proxy:                  nil, // a proxy would resolve the name itself
		DialContext:            p.dial,
		TLSHandshakeTimeout:    timeout,
		ResponseHeaderTimeout:  timeout,
		MaxResponseHeaderBytes: 16 << 10,
		DisableKeepAlives:      true, // deliveries are rare, and each connection must check the address
		ForceAttemptHTTP2:      true,
	}
	p.client = &http.Client{Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return p
}

// check refuses an invalid webhook address before it is stored.
func (p *poster) check(address string) error {
	u, err := url.Parse(address)
	if err != nil || len(address) > longestURL || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" ||
		u.User != nil || u.Fragment != "" {
		return errors.New("enter the receiver's address such as https://hooks.example.com/…, without a user name " +
			"and password")
	}
	if u.Scheme == "http" && len(p.allow) == 0 {
		return errors.New("use https: http is not encrypted")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return p.mayReach(ip, u.Scheme == "http")
	}
	return nil
}

// sendHook posts a signed body.
func (p *poster) sendHook(ctx context.Context, h *Hook, id string, body []byte) (status int, err error) {
	now := time.Now()
	signature, err := sign(h.Secret, id, now, body)
	if err != nil {
		return 0, final{err}
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	if h.Format == FormatSigned {
		header.Set("Webhook-Signature", signature)
	}
	status, wait, err := p.send(ctx, h.URL, header, body)
	switch {
	case err != nil:
		return 0, plainError(err, h.Owner == access.Owner("").ID)
	case status >= 200 && status < 300:
		return status, nil
	case status >= 300 && status < 400:
		return status, fmt.Errorf(
			"the receiver answered %d: redirects are not followed. Enter the address it redirects to", status)
	}
	return status, later{fmt.Errorf("the receiver answered %d", status), wait}
}

// send posts a body and returns the answer's status and Retry-After. plainError simplifies its
// errors.
func (p *poster) send(ctx context.Context, to string, header http.Header, body []byte) (int, time.Duration, error) {
	req, err := http.NewRequestWithContext(withPlain(ctx, strings.HasPrefix(to, "http://")), http.MethodPost, to,
		bytes.NewReader(body))
	if err != nil {
		return 0, 0, final{errors.New("the receiver's address cannot be read")}
	}
	req.Header = header
	req.Header.Set("User-Agent", "ahphub")
	res, err := p.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // not stored: it may contain anything
	return res.StatusCode, retryAfter(res.Header), nil
}

func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return min(time.Duration(min(s, 1<<20))*time.Second, longestWait)
}

// plainError simplifies an error of net/http for people. It omits the address, which may contain a
// secret. Only the owner may see what names in this network resolve to; no one sees the name
// server.
func plainError(err error, owner bool) error {
	if never, ok := errors.AsType[final](err); ok {
		return never
	}
	if refused, ok := errors.AsType[*refusedAddress](err); ok {
		if owner {
			return refused
		}
		return errors.New("this server may not send to that address. The owner can allow it with --notify-allow")
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return errors.New("the receiver did not answer in time")
		}
		err = u.Err
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsNotFound {
			return errors.New("the receiver cannot be reached: its name does not exist")
		}
		return errors.New("the receiver cannot be reached: its name cannot be resolved now")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Errorf("the receiver cannot be reached: %w", err)
}
