package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// CertificateFiles is a certificate and its key in two files, reread when either changes.
type CertificateFiles struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	version string // of the files last loaded or tried
	loaded  *tls.Certificate
}

// OpenCertificate reads a certificate and its key, as PEM. Only the owner of the key and their
// group may have access to it.
func OpenCertificate(cert, key string, log *slog.Logger) (*CertificateFiles, error) {
	f := &CertificateFiles{cert: cert, key: key, log: log}
	version, err := f.stat()
	if err != nil {
		return nil, err
	}
	if f.loaded, err = f.read(); err != nil {
		return nil, err
	}
	f.version = version
	return f, nil
}

// TLS returns the configuration of a server with this certificate.
func (f *CertificateFiles) TLS() *tls.Config {
	return hardenTLS(&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate,
		error) {
		return f.current(), nil
	}})
}

// hardenTLS disables old versions and, of TLS 1.2, ciphers without authentication.
func hardenTLS(c *tls.Config) *tls.Config {
	c.MinVersion = tls.VersionTLS12
	c.CipherSuites = []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
	return c
}

// Name returns the certificate's first name that can be opened; "" when there is none.
func (f *CertificateFiles) Name() string {
	leaf := f.current().Leaf
	for _, name := range leaf.DNSNames {
		if name[0] != '*' {
			return name
		}
	}
	for _, ip := range leaf.IPAddresses {
		return ip.String()
	}
	return ""
}

// current checks the files at each new connection. While they cannot be read (a renewal writes one
// after the other) it returns the last valid pair.
func (f *CertificateFiles) current() *tls.Certificate {
	version, err := f.stat()
	f.mu.Lock()
	same := err != nil || version == f.version
	kept := f.loaded
	f.mu.Unlock()
	if same {
		return kept
	}
	fresh, err := f.read()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
	if err != nil {
		f.log.Error("the new TLS certificate cannot be used; the previous one stays in use", "err", err)
		return f.loaded
	}
	f.loaded = fresh
	f.log.Info("reloaded the TLS certificate", "until", fresh.Leaf.NotAfter)
	return fresh
}

func (f *CertificateFiles) stat() (version string, err error) {
	for _, path := range []string{f.cert, f.key} {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		version += fmt.Sprintf("%d %d ", info.ModTime().UnixNano(), info.Size())
	}
	return version, nil
}

func (f *CertificateFiles) read() (*tls.Certificate, error) {
	if err := CheckSecretFile(f.key); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key: %w", f.cert, f.key, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, err
		}
	}
	return &pair, nil
}

// CheckSecretFile refuses a file that all users of the machine can read.
func CheckSecretFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New(path + " is a directory. Name the file")
	}
	if info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s is a secret that all users of this machine can read. Run chmod o= %[1]s", path)
	}
	return nil
}
