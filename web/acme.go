package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACME obtains certificates for names from an authority and renews them. Using it means agreeing to
// the authority's terms.
type ACME struct {
	manager *autocert.Manager
	cache   *sealedCache
	names   []string
	log     *slog.Logger
}

// ACMEConfig configures ACME.
type ACMEConfig struct {
	Names     []string
	Dir       string         // keeps account, keys and certificates: 0600 in 0700
	Email     string         // for the authority's expiry warnings; may be ""
	Directory string         // the authority's URL; "": Let's Encrypt
	Roots     *x509.CertPool // roots that vouch for the authority itself; nil: the system's
	Log       *slog.Logger
}

const (
	acmeSoonest = time.Minute // autocert remembers a failure for this long
	acmeLatest  = time.Hour
)

// NewACME returns an ACME; it makes no request yet.
func NewACME(cfg ACMEConfig) (*ACME, error) {
	if len(cfg.Names) == 0 {
		return nil, errors.New("a certificate needs at least one host name")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}
	client := &acme.Client{DirectoryURL: cmp.Or(cfg.Directory, acme.LetsEncryptURL), UserAgent: "ahphub",
		HTTPClient: &http.Client{Transport: &orders{next: transport}, Timeout: time.Minute}}
	cache := &sealedCache{dir: cfg.Dir}
	return &ACME{names: cfg.Names, log: cfg.Log, cache: cache,
		manager: &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: cache,
			HostPolicy: autocert.HostWhitelist(cfg.Names...), Email: cfg.Email, Client: client}}, nil
}

// TLS returns the configuration of a server with these certificates. It also answers the
// authority's challenge over TLS.
func (a *ACME) TLS() *tls.Config { return hardenTLS(a.manager.TLSConfig()) }

// Challenge answers the authority's challenge over http, and passes other requests on.
func (a *ACME) Challenge(next http.Handler) http.Handler { return a.manager.HTTPHandler(next) }

// Run obtains the certificates before the first visitor needs them, and logs failures. It returns
// once all are there, or when ctx ends; after that, certificates are renewed in use.
func (a *ACME) Run(ctx context.Context) {
	for _, name := range a.names {
		for wait := acmeSoonest; !a.obtain(ctx, name); wait = min(2*wait, acmeLatest) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

// obtain calls get until it succeeds or ctx ends. The manager takes no context: a pending request
// ends by its own timeout or with the program, and writes nothing but its cache.
func (a *ACME) obtain(ctx context.Context, name string) bool {
	got := make(chan bool, 1)
	go func() { got <- a.get(name) }()
	select {
	case <-ctx.Done():
		return true
	case ok := <-got:
		return ok
	}
}

func (a *ACME) get(name string) bool {
	hello := &tls.ClientHelloInfo{ServerName: name, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SignatureSchemes:  []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
		SupportedVersions: []uint16{tls.VersionTLS13}}
	got, err := a.manager.GetCertificate(hello)
	if err != nil {
		a.log.Error("the ACME authority issued no certificate. It must reach this server by that name at port 443 "+
			"(or 80, with --http-redirect)", "name", name, "err", err)
		return false
	}
	a.log.Info("got a TLS certificate", "name", name, "until", got.Leaf.NotAfter)
	return true
}
