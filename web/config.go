package web

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/people"
)

// Pages mounts what people see and draws what no route matches.
type Pages interface {
	Routes(chi.Router)
	NotFound(http.ResponseWriter, *http.Request)
}

// Assets serves /assets/ and knows the address of a file by its name.
type Assets interface {
	http.Handler
	Path(name string) string
}

// Tools is the endpoint of the host's tools for agents on this machine. Its tokens are its own.
type Tools interface {
	http.Handler
	Knows(token string) bool
}

// Sessions finds a session by the short id in its pages' addresses, and the way back.
type Sessions interface {
	SessionByShort(short string) (ahp.URI, bool)
}

// Config of a server. Zero fields take the stated default.
type Config struct {
	Pages Pages
	RPC   http.Handler // the protocol's endpoint, at /ahp
	// RootRPC is the same endpoint for sockets that are opened at "/"; it names sessions as such clients expect
	RootRPC http.Handler
	Tools   Tools // nil: there is none
	// Unsubscribe answers the links in mails, whoever follows them; nil: there are none
	Unsubscribe http.HandlerFunc
	Assets      Assets
	Sessions    Sessions
	Short       func(ahp.URI) string                            // short id of a session
	Title       func(session ahp.URI, part access.Scope) string // for the page of somebody who joins; nil: it is not told

	Home func(session ahp.URI, part access.Scope) string // the first page of a session or of a part of it

	Tokens  *access.Tokens
	Links   *access.Links
	Members *access.Members // nil: nobody but the owner has an account by an invitation
	SignIn  access.SignIn

	Passwords *people.Passwords // nil: nobody signs in by a password
	Passkeys  *people.Passkeys  // nil: nobody signs in by a passkey
	Provider  *Provider         // nil: nobody signs in by OpenID Connect

	Cookies *people.Cookies
	Audit   people.Audit
	Owner   access.Principal

	Listen     string         // the address listened on; its host is an allowed one
	PublicURL  *url.URL       // what teammates use; nil: the address listened on
	AllowHosts []string       // more host names requests may be for
	Proxies    []netip.Prefix // whose X-Forwarded-For, -Proto and -Host are believed; none by default

	TLS *tls.Config // nil: http, as behind a proxy

	Ready   func() error          // nil error: actions can be taken; for /readyz
	Metrics map[string]func() any // more gauges by name, as int64 or float64
	Log     *slog.Logger

	Registry *prometheus.Registry // where the host's other counters are; nil: there are none
	Tracer   trace.Tracer         // nil: no spans are made
	Limits   Limits
}

// Limits of the server.
type Limits struct {
	Body     int64         // bytes of a form: 4 MiB
	Failures int           // wrong tokens in a minute by address, tries at a password by address and account: 20
	Stop     time.Duration // open requests may take this long at the end: 4 s
	Read     time.Duration // headers, and a form's body: 15 s
	Idle     time.Duration // a kept connection: 2 min
}

func (c Config) withDefaults() (Config, error) {
	if c.Pages == nil || c.RPC == nil || c.RootRPC == nil || c.Assets == nil || c.Sessions == nil || c.Tokens == nil || c.Links == nil || c.Cookies == nil {
		return c, errors.New("web: Config misses a part")
	}
	l := &c.Limits
	l.Body = cmp.Or(l.Body, 4<<20)
	l.Failures = cmp.Or(l.Failures, 20)
	l.Stop = cmp.Or(l.Stop, 4*time.Second)
	l.Read = cmp.Or(l.Read, 15*time.Second)
	l.Idle = cmp.Or(l.Idle, 2*time.Minute)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Tracer = cmp.Or[trace.Tracer](c.Tracer, noop.Tracer{})
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	if c.Title == nil {
		c.Title = func(ahp.URI, access.Scope) string { return "" }
	}
	if c.Home == nil {
		c.Home = func(session ahp.URI, _ access.Scope) string { return "/s/" + c.Short(session) }
	}
	if !c.Owner.IsKnown() {
		c.Owner = access.Owner("")
	}
	return c, nil
}
