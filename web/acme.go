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

// ACME gets certificates for names from an authority and renews them. By using it one agrees to the authority's terms.
type ACME struct {
	manager *autocert.Manager
	names   []string
	log     *slog.Logger
}

// ACMEConfig says for which names, and of whom.
type ACMEConfig struct {
	Names     []string
	Dir       string         // keeps account, keys and certificates: 0600 in 0700
	Email     string         // the authority warns it of what expires; may be ""
	Directory string         // the authority's; "": Let's Encrypt
	Roots     *x509.CertPool // who vouches for the authority itself; nil: whom this machine trusts
	Log       *slog.Logger
}

const (
	acmeSoonest = time.Minute // autocert remembers a failure as long
	acmeLatest  = time.Hour
)

// NewACME asks for nothing yet.
func NewACME(cfg ACMEConfig) (*ACME, error) {
	if len(cfg.Names) == 0 {
		return nil, errors.New("name what the certificate is to be for")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}
	client := &acme.Client{DirectoryURL: cmp.Or(cfg.Directory, acme.LetsEncryptURL), UserAgent: "ahphub",
		HTTPClient: &http.Client{Transport: &orders{next: transport}, Timeout: time.Minute}}
	return &ACME{names: cfg.Names, log: cfg.Log, manager: &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(cfg.Dir),
		HostPolicy: autocert.HostWhitelist(cfg.Names...), Email: cfg.Email, Client: client}}, nil
}

// TLS is the configuration of a server with these certificates. It also answers the authority's question over TLS.
func (a *ACME) TLS() *tls.Config { return careful(a.manager.TLSConfig()) }

// Challenge answers the authority's question over http, and hands other requests on.
func (a *ACME) Challenge(next http.Handler) http.Handler { return a.manager.HTTPHandler(next) }

// Run gets the certificates before somebody waits for them, and says in the log why it could not. It ends once all are
// there, or ctx does; from then on they are renewed as they are used.
func (a *ACME) Run(ctx context.Context) {
	for _, name := range a.names {
		for wait := acmeSoonest; !a.have(ctx, name); wait = min(2*wait, acmeLatest) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

// have is get until ctx ends. The manager takes no context: what it still waits for then ends by its own limit, or with
// the program, and writes nothing but its cache.
func (a *ACME) have(ctx context.Context, name string) bool {
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
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedVersions: []uint16{tls.VersionTLS13}}
	got, err := a.manager.GetCertificate(hello)
	if err != nil {
		a.log.Error("no certificate was given by the ACME authority: it must reach this host at port 443 (or 80, with --http-redirect) by that name", "name", name, "err", err)
		return false
	}
	a.log.Info("the certificate is there", "name", name, "until", got.Leaf.NotAfter)
	return true
}
