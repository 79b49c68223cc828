package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACME obtains certificates for names from an authority and renews them. Using it means agreeing to
// the authority's terms.
type ACME struct {
	manager *autocert.Manager
	cache   *sealedCache
	orders  *orders
	names   []string
	log     *slog.Logger

	leads func() bool // of Share; nil: this server has no others
	there sync.Map    // names whose certificates were seen, on a server that does not lead
}

// ACMEConfig configures ACME.
type ACMEConfig struct {
	Names     []string
	Dir       string         // keeps account, keys and certificates: 0600 in 0700
	Email     string         // for the authority's expiry warnings; may be ""
	Directory string         // the authority's URL; "": Let's Encrypt
	Roots     *x509.CertPool // trust roots for the authority's own server; nil: the system's
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
	sent := &orders{next: transport}
	client := &acme.Client{DirectoryURL: cmp.Or(cfg.Directory, acme.LetsEncryptURL), UserAgent: "ahphub",
		HTTPClient: &http.Client{Transport: sent, Timeout: time.Minute}}
	cache := &sealedCache{files: dirFiles{autocert.DirCache(cfg.Dir)}}
	return &ACME{names: cfg.Names, log: cfg.Log, cache: cache, orders: sent,
		manager: &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: cache,
			HostPolicy: autocert.HostWhitelist(cfg.Names...), Email: cfg.Email, Client: client}}, nil
}

// TLS returns the configuration of a server with these certificates. It also answers the
// authority's challenge over TLS.
func (a *ACME) TLS() *tls.Config {
	c := hardenTLS(a.manager.TLSConfig())
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if err := a.isThere(hello); err != nil {
			return nil, err
		}
		return a.manager.GetCertificate(hello)
	}
	return c
}

// Share makes servers share their certificates: the leader requests them from the authority, and every server answers
// the challenges. Call it before the server serves.
func (a *ACME) Share(files CacheFiles, leads func() bool) {
	a.cache.files, a.leads, a.orders.refused = files, leads, func() error {
		if leads() {
			return nil
		}
		return errOrders
	}
}

var errOrders = errors.New("another server asks the authority for certificates")

// Adopt copies the files of one server's directory to the servers that share certificates, unless they exist there.
func (a *ACME) Adopt(ctx context.Context, dir string) error {
	own := &sealedCache{files: dirFiles{autocert.DirCache(dir)}, keys: a.cache.keys}
	names, err := own.files.Names(ctx)
	for _, name := range names {
		if _, known := a.cache.files.Get(ctx, name); !errors.Is(known, ErrNotKept) {
			continue
		}
		data, read := own.Get(ctx, name)
		switch {
		case errors.Is(read, ErrNotKept): // the key is missing
		case read != nil:
			err = errors.Join(err, read)
		default:
			err = errors.Join(err, a.cache.Put(ctx, name, data))
		}
	}
	return err
}

// isThere refuses a visitor of a server that does not lead while there is no certificate. Otherwise the manager would
// request one, fail, and refuse visitors for a minute.
func (a *ACME) isThere(hello *tls.ClientHelloInfo) error {
	name := strings.ToLower(hello.ServerName)
	if a.leads == nil || a.leads() || !slices.Contains(a.names, name) || slices.Contains(hello.SupportedProtos, acme.ALPNProto) {
		return nil
	}
	if _, seen := a.there.Load(name); seen {
		return nil
	}
	if _, err := a.cache.Get(hello.Context(), name); err != nil {
		return fmt.Errorf("there is no certificate for %s yet: %w", name, err)
	}
	a.there.Store(name, true)
	return nil
}

// Challenge answers the authority's challenge over http, and passes other requests on.
func (a *ACME) Challenge(next http.Handler) http.Handler { return a.manager.HTTPHandler(next) }

// Run obtains the certificates before the first visitor needs them, and logs failures. It returns
// when all exist or ctx ends; after that, certificates are renewed in use.
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
// ends by its own timeout or with the program, and writes only to its cache.
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
