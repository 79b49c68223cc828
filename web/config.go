package web

import (
	"cmp"
	"context"
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
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/people"
)

// Pages mounts the pages and renders the page for unknown routes.
type Pages interface {
	Routes(chi.Router)
	NotFound(http.ResponseWriter, *http.Request)
}

// Assets serves /assets/ and returns the address of a file by its name.
type Assets interface {
	http.Handler
	Path(name string) string
	Imports(scripts ...string) []string
	Content(name string) []byte
}

// Tools is the endpoint of the host's tools for agents on this machine. It has its own tokens.
type Tools interface {
	http.Handler
	Knows(token string) bool
}

// Sessions maps sessions to the short ids in their pages' addresses, and back.
type Sessions interface {
	SessionByShort(short string) (ahp.URI, bool)
}

// Config of a server. Zero fields take the stated default.
type Config struct {
	Pages Pages
	RPC   http.Handler // the protocol's endpoint, at /ahp
	// RootRPC is the same endpoint for sockets opened at "/"; it names sessions as such clients
	// expect
	RootRPC http.Handler
	Tools   Tools // nil: none
	// Machines serves the sockets of machines, which authenticate inside them; nil: none
	Machines http.Handler
	// Unsubscribe serves the links in mails, without sign-in; nil: none
	Unsubscribe http.HandlerFunc
	Assets      Assets
	Sessions    Sessions
	Short       func(ahp.URI) string // short id of a session
	// for the page of a joining guest; nil: no title is shown
	Title func(session ahp.URI, part access.Scope) string

	Home func(session ahp.URI, part access.Scope) string // the first page of a session or of a part of it

	Tokens  *access.Tokens
	Links   *access.Links
	Members *access.Members // nil: only the owner has an account by invitation
	SignIn  *access.SignIns

	Passwords *people.Passwords // nil: no sign-in by password
	Passkeys  *people.Passkeys  // nil: no sign-in by passkey
	Provider  *Provider         // nil: no sign-in by OpenID Connect

	Cookies *people.Cookies
	// AwaitNodes waits until other nodes of a cluster show nothing to visitors whose rights have
	// ended; nil: there are none
	AwaitNodes func(context.Context)
	Audit      *audit.Log
	Owner      access.Principal

	Listen     string         // the listen address; its host is allowed
	PublicURL  *url.URL       // the address for teammates; nil: the listen address
	AllowHosts []string       // further allowed host names
	Proxies    []netip.Prefix // trusted for X-Forwarded-For, -Proto and -Host; default none

	TLS *tls.Config // nil: http, as behind a proxy

	Ready   func() error // nil error: actions are accepted; for /readyz
	Metrics []Metric     // in addition to those of requests
	Log     *slog.Logger

	Registry *prometheus.Registry // the host's other metrics; nil: none
	Tracer   trace.Tracer         // nil: no spans
	Limits   Limits
}

// Metric is a number that is read when metrics are collected.
type Metric struct {
	Name, Help string
	Counter    bool // it only grows while the server runs
	Read       func() float64

	// Instead of Read, for one of several series: it calls add for each, with a value for each label.
	Labels []string
	Each   func(add func(value float64, labels ...string))
}

// Limits bounds the server's resources.
type Limits struct {
	Body     int64         // bytes of a form: 4 MiB
	Failures int           // per minute: wrong tokens by address, password attempts by address and account: 20
	Stop     time.Duration // grace period of open requests at shutdown: 4 s
	Read     time.Duration // headers, and a form's body: 15 s
	Idle     time.Duration // keep-alive connection: 2 min
}

func (l *Limits) fill() {
	l.Body = cmp.Or(l.Body, 4<<20)
	l.Failures = cmp.Or(l.Failures, 20)
	l.Stop = cmp.Or(l.Stop, 4*time.Second)
	l.Read = cmp.Or(l.Read, 15*time.Second)
	l.Idle = cmp.Or(l.Idle, 2*time.Minute)
}

func (c Config) withDefaults() (Config, error) {
	if c.Pages == nil || c.RPC == nil || c.RootRPC == nil || c.Assets == nil || c.Sessions == nil || c.Tokens == nil ||
		c.Links == nil || c.Cookies == nil {
		return c, errors.New("web: Config misses a part")
	}
	c.Limits.fill()
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Tracer = cmp.Or[trace.Tracer](c.Tracer, noop.Tracer{})
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	if c.AwaitNodes == nil {
		c.AwaitNodes = func(context.Context) {}
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
