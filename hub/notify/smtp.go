package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/ahphub/ahphub/hub/texts"
)

// SMTP sends mail through a server.
type SMTP struct {
	Host      string
	Port      int
	TLS       TLSMode
	User      string
	Password  string
	From      mail.Address
	Timeout   time.Duration // for one mail: 10 s
	TLSConfig *tls.Config   // nil: the system's roots
}

// TLSMode is how the connection to the server is encrypted.
type TLSMode string

// The modes.
const (
	StartTLS  TLSMode = "starttls" // fails without encryption
	TLS       TLSMode = "tls"      // from the first byte
	PlainSMTP TLSMode = "none"     // only to this machine
)

// Check refuses settings that would send a password or mail unencrypted over a network.
func (s *SMTP) Check() error {
	switch {
	case s.Host == "" || s.Port < 1 || s.Port > 65535:
		return errors.New("use host:port, as in mail.example.com:587")
	case s.TLS != StartTLS && s.TLS != TLS && s.TLS != PlainSMTP:
		return errors.New("use starttls, tls or none")
	case s.TLS == PlainSMTP && !isThisMachine(s.Host):
		return errors.New("mail may be unencrypted only to a server on this machine. Use starttls or tls")
	case s.User != "" && s.Password == "":
		return errors.New("an SMTP user needs a password. Set AHPHUB_SMTP_PASSWORD or name a file")
	}
	_, err := Address(s.From.Address)
	return err
}

func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Send sends one mail. A permanent refusal by the server is not retried.
func (s *SMTP) Send(ctx context.Context, l Letter) error {
	m, err := s.message(l)
	if err != nil {
		return final{err}
	}
	client, err := gomail.NewClient(s.Host, s.options()...)
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, m)
	if refused, ok := errors.AsType[*gomail.SendError](err); ok && !refused.IsTemp() && refused.ErrorCode() >= 550 {
		return final{fmt.Errorf("the mail server refused the mail: %w", err)}
	}
	if err != nil {
		return fmt.Errorf("the mail server did not accept the mail: %w", err)
	}
	return nil
}

func (s *SMTP) options() []gomail.Option {
	timeout := cmp.Or(s.Timeout, 10*time.Second)
	o := []gomail.Option{gomail.WithPort(s.Port), gomail.WithTimeout(timeout), gomail.WithHELO("localhost")}
	switch s.TLS {
	case TLS:
		o = append(o, gomail.WithSSL())
	case StartTLS:
		o = append(o, gomail.WithTLSPolicy(gomail.TLSMandatory))
	default:
		o = append(o, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.TLSConfig != nil {
		o = append(o, gomail.WithTLSConfig(s.TLSConfig))
	}
	if s.User != "" {
		o = append(o, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.User),
			gomail.WithPassword(s.Password))
	}
	return o
}

// message returns the mail; the library encodes every header and text.
func (s *SMTP) message(l Letter) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	err := errors.Join(m.FromFormat(s.From.Name, s.From.Address), m.To(l.To))
	if err != nil {
		return nil, err
	}
	m.Subject(texts.ElideRunes(clean(l.Subject), 200))
	m.SetMessageIDWithValue(l.ID + "@" + s.domain())
	m.SetDate()
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	if l.Unsubscribe != "" {
		m.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+l.Unsubscribe+">")
		m.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	m.SetBodyString(gomail.TypeTextPlain, l.Text)
	m.AddAlternativeString(gomail.TypeTextHTML, l.HTML)
	return m, nil
}

func (s *SMTP) domain() string { return s.From.Address[strings.LastIndexByte(s.From.Address, '@')+1:] }

// ReadSMTP parses the setting with a server's address.
func ReadSMTP(server string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(server)
	if err != nil {
		return "", 0, errors.New("use host:port, as in mail.example.com:587")
	}
	port, err = strconv.Atoi(p)
	return host, port, err
}
