package notify

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/mail"
	"strings"
	"time"
)

const (
	codeLife    = 30 * time.Minute
	maxTries    = 5 // wrong codes
	maxCodes    = 5 // mails with a code in an hour
	longestMail = 254
)

// Address parses one e-mail address from a form: only the address, without a name, and nothing
// that could become another header.
func Address(s string) (string, error) {
	s = strings.TrimSpace(s)
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s || len(s) > longestMail ||
		strings.ContainsAny(s, "\r\n\"<>,;[] ") ||
		!strings.Contains(s, ".") || !isASCII(s) {
		return "", errors.New("enter an email address such as ana@example.com")
	}
	return s, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// SetAddress stores a person's unverified address and sends it a code; nothing else is sent there
// before Verify.
func (n *Notifier) SetAddress(ctx context.Context, who, address string) error {
	if !n.CanMail() {
		return errors.New("email isn't configured on this server. Start ahphub with --smtp to enable it")
	}
	address, err := Address(address)
	if err != nil {
		return err
	}
	code := newCode()
	err = n.Change(ctx, who, func(p *Prefs) error {
		now := time.Now().UTC()
		sent := keepRecent(p.Mail.Sent, now)
		if len(sent) >= maxCodes {
			return fmt.Errorf("%d codes were sent in the last hour. Check your inbox or wait", maxCodes)
		}
		p.Mail.Address, p.Mail.Verified, p.Mail.Tries = address, false, 0
		p.Mail.Code, p.Mail.Until, p.Mail.Sent = hashOf(code), now.Add(codeLife), append(sent, now.Format(time.RFC3339))
		return nil
	})
	if err != nil {
		return err
	}
	n.forgetMail(who)
	return n.enqueue(&job{key: "code/" + who, Who: who, Code: code, Address: address, Due: time.Now().UTC()})
}

func keepRecent(sent []string, now time.Time) (out []string) {
	for _, s := range sent {
		if at, err := time.Parse(time.RFC3339, s); err == nil && now.Sub(at) < time.Hour {
			out = append(out, s)
		}
	}
	return out
}

func newCode() string {
	i, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		panic(err) // the system has no randomness
	}
	return fmt.Sprintf("%06d", i)
}

func hashOf(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// Verify checks the code that was mailed.
func (n *Notifier) Verify(ctx context.Context, who, code string) error {
	var wrong error
	err := n.Change(ctx, who, func(p *Prefs) error {
		m := &p.Mail
		switch {
		case m.Code == "" || time.Now().After(m.Until):
			return errors.New("this code has expired. Request a new one")
		case m.Tries >= maxTries:
			return errors.New("too many wrong codes. Request a new one")
		case subtle.ConstantTimeCompare([]byte(m.Code), []byte(hashOf(strings.Join(strings.Fields(code), "")))) == 0:
			m.Tries++
			wrong = errors.New("incorrect code. Enter the code from the most recent email")
			return nil
		}
		m.Verified, m.Code, m.Tries, m.Until = true, "", 0, time.Time{}
		return nil
	})
	if err != nil {
		return err
	}
	return wrong
}

// RemoveAddress ends a person's mail and deletes their address.
func (n *Notifier) RemoveAddress(ctx context.Context, who string) error {
	err := n.Change(ctx, who, func(p *Prefs) error {
		if p.Mail.Address == "" {
			return ErrNoAddress
		}
		p.Mail.Address, p.Mail.Verified, p.Mail.Code = "", false, ""
		return nil
	})
	n.forgetMail(who)
	return err
}

// ErrNoAddress reports that there is no address.
var ErrNoAddress = errors.New("the address was already removed")

// unsubscriber returns the token of a link that ends a person's mail to an address, and does
// nothing else.
func (n *Notifier) unsubscriber(who, address string) string {
	mac := hmac.New(sha256.New, n.cfg.Key)
	fmt.Fprintf(mac, "unsubscribe\n%s\n%s", who, address)
	return base64.RawURLEncoding.EncodeToString([]byte(who)) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// ErrNotSubscribed reports that a link is not valid, or that its address gets no mail from here.
var ErrNotSubscribed = errors.New("this address is already unsubscribed")

// Unsubscribes returns whose mail a link ends, and the address.
func (n *Notifier) Unsubscribes(ctx context.Context, token string) (who, address string, err error) {
	name, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(raw) == 0 || len(raw) > 200 {
		return "", "", ErrNotSubscribed
	}
	p, err := n.Prefs(string(raw))
	if err != nil {
		return "", "", err
	}
	if p.Mail.Address == "" || !hmac.Equal([]byte(token), []byte(n.unsubscriber(string(raw), p.Mail.Address))) {
		return "", "", ErrNotSubscribed
	}
	return string(raw), p.Mail.Address, nil
}

// Unsubscribe switches a person's mail off; they can switch it on again in their settings.
func (n *Notifier) Unsubscribe(ctx context.Context, token string) (who, address string, err error) {
	who, address, err = n.Unsubscribes(ctx, token)
	if err != nil {
		return "", "", err
	}
	err = n.Change(ctx, who, func(p *Prefs) error {
		p.Choose(Mail, nil)
		return nil
	})
	n.forgetMail(who)
	return who, address, err
}

// LastMail returns the result of a person's last mail; false when there was none.
func (n *Notifier) LastMail(ctx context.Context, who string) (Result, bool) {
	return n.last(ctx, "mail:"+who)
}
