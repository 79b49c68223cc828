package join

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/machines"
)

// Path is where a hub accepts machines.
const Path = "/machines/connect"

// RefusedError is the reason why a hub refused a machine. A retry is useless.
type RefusedError struct{ Reason string }

// Error returns the hub's reason.
func (e *RefusedError) Error() string { return e.Reason }

// Request describes a machine's connection to a hub.
type Request struct {
	Hub    *url.URL           // as people open it in a browser
	Key    ed25519.PrivateKey // the machine's own
	HubKey ed25519.PublicKey  // from the token at first, then from the identity
	Invite *machines.Invite   // nil for a machine that has joined
	Name   string             // with an invite: the name it wants
	Report machines.Report
	Client *http.Client // default: a client that honours HTTPS_PROXY and similar variables
	Speaks Range        // default: Speaks; tests set another one
}

// CheckURL refuses addresses to which a machine must not send anything.
func CheckURL(u *url.URL) error {
	switch {
	case u == nil || u.Host == "" || u.User != nil:
		return errors.New("the address of the hub looks like https://hub.example.com")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("the address of the hub begins with https://, not %s://", u.Scheme)
	case !isLoopback(u.Hostname()):
		return errors.New("http:// is possible on this computer alone. Use the https:// address of the hub")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Connect connects to a hub and returns the connection once the hub accepts the machine. A RefusedError reports that
// the hub refused it.
func Connect(ctx context.Context, r Request) (net.Conn, Welcome, error) {
	if err := CheckURL(r.Hub); err != nil {
		return nil, Welcome{}, err
	}
	dialing, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	ws, response, err := websocket.Dial(dialing, r.Hub.JoinPath(Path).String(), &websocket.DialOptions{
		HTTPClient: r.Client, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, Welcome{}, dialError(r.Hub, response, err)
	}
	conn := &socket{websocket.NetConn(ctx, ws, websocket.MessageBinary)}
	over, welcome, err := r.greet(dialing, conn)
	if err != nil {
		conn.Close()
	}
	return over, welcome, err
}

// socket is a connection whose final error has the hub's reason for ending it.
type socket struct{ net.Conn }

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if end, ok := errors.AsType[websocket.CloseError](err); ok && end.Code == websocket.StatusPolicyViolation {
		err = &RefusedError{end.Reason}
	}
	return n, err
}

func dialError(hub *url.URL, response *http.Response, err error) error {
	if response != nil && response.StatusCode == http.StatusNotFound {
		return fmt.Errorf("%s takes no machines in: is it a hub of a release that can?", hub.Redacted())
	}
	return fmt.Errorf("the hub at %s cannot be reached: %w", hub.Redacted(), err)
}

func (r Request) greet(ctx context.Context, conn net.Conn) (net.Conn, Welcome, error) {
	lift, err := withDeadline(conn, greeting)
	if err != nil {
		return nil, Welcome{}, err
	}
	cfg, err := config(r.Key, func(key ed25519.PublicKey) error {
		if !key.Equal(r.HubKey) {
			return ErrWrongHub
		}
		return nil
	})
	if err != nil {
		return nil, Welcome{}, err
	}
	over := tls.Client(conn, cfg)
	if _, err := secure(ctx, over); err != nil {
		return nil, Welcome{}, err
	}
	say := hello{Report: r.Report, Speaks: cmp.Or(r.Speaks, Speaks)}
	if r.Invite != nil {
		say.Secret, say.Name = r.Invite.Secret[:], strings.TrimSpace(r.Name)
	}
	if err := writeMessage(over, say); err != nil {
		return nil, Welcome{}, err
	}
	var welcome Welcome
	if err := readMessage(over, &welcome); err != nil {
		return nil, Welcome{}, fmt.Errorf("the hub ended the connection: %w", err)
	}
	switch {
	case welcome.Gone:
		return nil, welcome, &RefusedError{welcome.Error}
	case welcome.Error != "":
		return nil, welcome, errors.New(welcome.Error)
	}
	if err := checkSkew(side{"this machine", r.Report.Version, say.Speaks}, side{"the hub", welcome.Version,
		welcome.Speaks}); err != nil {
		return nil, welcome, err
	}
	return over, welcome, lift()
}
