package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/web"
)

// tlsConfig configures whether ahphub serves TLS itself, and with which certificate.
type tlsConfig struct {
	TLSCert       string   `name:"tls-cert" placeholder:"FILE" help:"Certificate chain (PEM) for https, reloaded when it changes."`
	TLSKey        string   `name:"tls-key" placeholder:"FILE" help:"Key of the certificate (PEM)."`
	ACME          []string `name:"acme" placeholder:"NAME" help:"Host names to get certificates for from an ACME authority. Using it accepts the authority's terms."`
	ACMEEmail     string   `name:"acme-email" placeholder:"EMAIL" help:"Contact address for the authority."`
	ACMEDirectory string   `name:"acme-directory" placeholder:"URL" help:"Directory URL of the authority. Default: Let's Encrypt."`
	ACMERoots     string   `name:"acme-roots" placeholder:"FILE" help:"CA certificates (PEM) for an authority that this machine does not trust."`
	HTTPRedirect  string   `name:"http-redirect" placeholder:"HOST:PORT" help:"Address that redirects http to https and answers ACME challenges, as in :80."`
}

func (c tlsConfig) on() bool { return c.TLSCert != "" || c.TLSKey != "" || len(c.ACME) > 0 }

// check passes every wrong value to bad.
func (c tlsConfig) check(bad func(name string, value any, allowed string)) {
	switch {
	case len(c.ACME) > 0 && (c.TLSCert != "" || c.TLSKey != ""):
		bad("acme", strings.Join(c.ACME, ","),
			"a certificate comes from files or from an authority: leave out one of --tls-cert and --acme")
	case (c.TLSCert == "") != (c.TLSKey == ""):
		bad("tls-cert", c.TLSCert, "a certificate needs its key: name both --tls-cert and --tls-key")
	case c.TLSCert != "":
		if _, err := web.OpenCertificate(c.TLSCert, c.TLSKey, slog.New(slog.DiscardHandler)); err != nil {
			bad("tls-cert", c.TLSCert, err.Error())
		}
	}
	for _, name := range c.ACME {
		if net.ParseIP(name) != nil || strings.ContainsAny(name, "/:* ") || name == "" {
			bad("acme", name, "use a name that leads here, as in hub.example.com")
		}
	}
	if u, err := url.Parse(c.ACMEDirectory); c.ACMEDirectory != "" && (err != nil || u.Scheme != "https") {
		bad("acme-directory", c.ACMEDirectory, "use the https address of the authority's directory")
	}
	if _, err := c.roots(); err != nil {
		bad("acme-roots", c.ACMERoots, err.Error())
	}
	if c.HTTPRedirect != "" && (!isAddress(c.HTTPRedirect) || !c.on()) {
		bad("http-redirect", c.HTTPRedirect, "use host:port, as in :80, together with --acme or --tls-cert")
	}
}

func (c tlsConfig) roots() (*x509.CertPool, error) {
	if c.ACMERoots == "" {
		return nil, nil
	}
	b, err := os.ReadFile(c.ACMERoots)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, errors.New("the file contains no certificate")
	}
	return pool, nil
}

// secured holds what serving by TLS needs in addition to the server.
type secured struct {
	config   *tls.Config
	name     string // the certificate's name
	acme     *web.ACME
	agents   net.Listener // for agents on this machine, without TLS
	redirect net.Listener // nil: none
}

// secure opens the certificate and the listeners without TLS; it returns nil if TLS is off. The
// caller closes the result, also on an error.
func (c tlsConfig) secure(data string, log *slog.Logger) (s *secured, err error) {
	if !c.on() {
		return nil, nil
	}
	s = &secured{}
	if err := s.certificate(c, data, log); err != nil {
		return s, err
	}
	if s.agents, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return s, fmt.Errorf("cannot listen for agents on this machine: %w", err)
	}
	if c.HTTPRedirect != "" {
		s.redirect, err = listen(c.HTTPRedirect)
	}
	return s, err
}

func (s *secured) certificate(c tlsConfig, data string, log *slog.Logger) error {
	if len(c.ACME) == 0 {
		files, err := web.OpenCertificate(c.TLSCert, c.TLSKey, log)
		if err != nil {
			return err
		}
		s.config, s.name = files.TLS(), files.Name()
		return nil
	}
	roots, err := c.roots()
	if err != nil {
		return err
	}
	s.acme, err = web.NewACME(web.ACMEConfig{Names: c.ACME, Dir: acmeDir(data), Email: c.ACMEEmail,
		Directory: c.ACMEDirectory, Roots: roots, Log: log})
	if err != nil {
		return err
	}
	s.config, s.name = s.acme.TLS(), c.ACME[0]
	return nil
}

func acmeDir(data string) string { return filepath.Join(data, "acme") }

// use adds the names that TLS serves to the settings.
func (s *settings) use(t *secured, l net.Listener) {
	s.secured = t
	if s.public == nil && t.config != nil {
		s.public = t.address(l)
	}
}

func (s settings) tls() *tls.Config {
	if s.secured == nil {
		return nil
	}
	return s.secured.config
}

// agentURL returns the host's tools' URL for agents on this machine.
func agentURL(s settings, l net.Listener) string {
	if s.secured != nil {
		return localURL(s.secured.agents)
	}
	return localURL(l)
}

// address returns the public address if no --public-url is set: the certificate's name, at the
// listening port.
func (s *secured) address(l net.Listener) *url.URL {
	host, port, _ := net.SplitHostPort(l.Addr().String())
	if s.name != "" {
		host = s.name
	}
	u := &url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}
	if port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	return u
}

// serve serves the listeners without TLS until ctx ends.
func (s *secured) serve(ctx context.Context, server *web.Server, public *url.URL) error {
	var wg sync.WaitGroup
	var agentErr, redirectErr error
	wg.Go(func() { agentErr = server.ServeAgents(ctx, s.agents) })
	h := http.Handler(web.Redirect(public))
	if s.acme != nil {
		h = s.acme.Challenge(h)
		wg.Go(func() { s.acme.Run(ctx) })
	}
	if s.redirect != nil {
		wg.Go(func() { redirectErr = server.ServeRedirect(ctx, s.redirect, h) })
	}
	wg.Wait()
	return errors.Join(agentErr, redirectErr)
}

func (s *secured) close() {
	for _, l := range []net.Listener{s.agents, s.redirect} {
		if l != nil {
			l.Close()
		}
	}
}

// forTerm returns the settings of a term's hub, with its own listener for agents on this machine.
func (s settings) forTerm() (of settings, release func(), err error) {
	if s.secured == nil {
		return s, func() {}, nil
	}
	own := *s.secured
	if own.agents, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return s, func() {}, fmt.Errorf("cannot listen for agents on this machine: %w", err)
	}
	s.secured = &own
	return s, func() { own.agents.Close() }, nil
}

// serveRedirect answers requests without TLS until ctx ends.
func (s *secured) serveRedirect(ctx context.Context, log *slog.Logger, public *url.URL) error {
	if s.redirect == nil {
		<-ctx.Done()
		return nil
	}
	h := http.Handler(web.Redirect(public))
	if s.acme != nil {
		h = s.acme.Challenge(h)
	}
	return web.Front{Handler: h, Log: log}.Serve(ctx, s.redirect)
}
