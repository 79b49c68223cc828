package main

import (
	"context"
	"errors"
	"net/mail"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/templ/part"
	"github.com/ahphub/ahphub/web"
)

const smtpVariable = "AHPHUB_SMTP_PASSWORD"

// notifyConfig configures how notifications leave this host.
type notifyConfig struct {
	SMTP             string   `name:"smtp" placeholder:"HOST:PORT" help:"Mail server for notifications, as in mail.example.com:587. Default: no email."`
	SMTPTLS          string   `name:"smtp-tls" default:"starttls" placeholder:"starttls|tls|none" help:"Encryption of the connection. Use none only for a server on this machine. Default: ${default}."`
	SMTPUser         string   `name:"smtp-user" placeholder:"NAME" help:"User name for the mail server. The password is in AHPHUB_SMTP_PASSWORD or a file."`
	SMTPPasswordFile string   `name:"smtp-password-file" placeholder:"FILE" help:"File with the password."`
	SMTPFrom         string   `name:"smtp-from" placeholder:"ADDRESS" help:"Sender of the email, as in ahphub@example.com or \"Hub <ahphub@example.com>\"."`
	NotifyAllow      []string `name:"notify-allow" placeholder:"CIDR" help:"Private addresses that webhooks and push notifications may be sent to, as in 10.1.2.0/24. Default: none."`
}

// check parses the settings; mailer is nil without a server.
func (c notifyConfig) check(bad func(name string, value any, allowed string)) (allow []netip.Prefix,
	mailer notify.Mailer) {
	for _, p := range c.NotifyAllow {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			bad("notify-allow", p, "use a range of addresses, as in 10.1.2.0/24")
			continue
		}
		allow = append(allow, prefix.Masked())
	}
	if c.SMTP == "" {
		if c.SMTPFrom != "" || c.SMTPUser != "" {
			bad("smtp", "", "name the mail server, as in mail.example.com:587")
		}
		return allow, nil
	}
	s := &notify.SMTP{TLS: notify.TLSMode(c.SMTPTLS), User: c.SMTPUser}
	from, err := mail.ParseAddress(c.SMTPFrom)
	if err != nil {
		bad("smtp-from", c.SMTPFrom, "use an address, as in ahphub@example.com")
		return allow, nil
	}
	s.From = *from
	if s.From.Name == "" {
		s.From.Name = "ahphub"
	}
	if s.Password, err = c.password(); err != nil {
		bad("smtp-password-file", c.SMTPPasswordFile, err.Error())
	}
	if s.Host, s.Port, err = notify.ReadSMTP(c.SMTP); err == nil {
		err = s.Check()
	}
	if err != nil {
		bad("smtp", c.SMTP, err.Error())
	}
	return allow, s
}

func (c notifyConfig) password() (string, error) {
	if c.SMTPPasswordFile == "" {
		return os.Getenv(smtpVariable), nil
	}
	if os.Getenv(smtpVariable) != "" {
		return "", errors.New("the password is also set in " + smtpVariable + ". Remove one of them")
	}
	if err := web.CheckSecretFile(c.SMTPPasswordFile); err != nil {
		return "", err
	}
	b, err := os.ReadFile(filepath.Clean(c.SMTPPasswordFile))
	return strings.TrimSpace(string(b)), err
}

// buildNotifier makes the notifier before the host starts, so that it also handles what the host
// does after a crash.
func (a *app) buildNotifier(ctx context.Context, set settings) error {
	key, _, err := cookieKey(a.cfg.Data)
	if err != nil {
		return err
	}
	a.notify, err = notify.New(ctx, notify.Config{Hub: a.hub, Host: a.host, Store: a.docs, Key: key, Keys: a.keys,
		Person: a.person, Short: core.ShortID, ChatID: part.Tail, Author: commentAuthor, Guest: host.FromGuest,
		Public: func() string { return a.at.URL }, Mailer: set.mailer, Allow: set.allow, Log: a.log,
		SignedIn: func(ctx context.Context, browser, account string) (bool, error) {
			return a.cookies.IsSignedIn(ctx, browser, account)
		}})
	return err
}

// person returns an account as the principal it is in a session: members join sessions by links.
func (a *app) person(id string, session ahp.URI) (access.Principal, bool) {
	who, err := a.web.Person(context.Background(), id)
	if err != nil || !who.IsKnown() || !who.HasAccount() {
		return access.Principal{}, false
	}
	if who.Role == access.RoleOwner || who.Host {
		return who, true
	}
	for _, l := range a.links.List(session) {
		if p, err := a.links.Principal(l.ID, id); err == nil {
			return p, true
		}
	}
	return access.Principal{}, false
}

// left reports whether id is a guest whose links have all ended.
func (a *app) left(id string) bool {
	return strings.HasPrefix(id, "guest:") && !slices.ContainsFunc(a.links.List(""), func(l access.Link) bool {
		_, err := a.links.Principal(l.ID, id)
		return err == nil
	})
}

func commentAuthor(e ahp.AnnotationEntry) (by review.Person, at time.Time, ok bool) {
	s, ok := core.ReadStamp(e.Meta)
	return review.Person{ID: s.By.ID, Name: s.By.Name}, s.At, ok
}
