package web

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a self-signed certificate for a name, and returns its serial number.
func writeCertificate(t *testing.T, dir, name string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"*." + name, name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePEM(t, cert, "CERTIFICATE", der)
	writePEM(t, key, "PRIVATE KEY", raw)
	return cert, key
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCertificateFiles(t *testing.T) {
	dir, log := t.TempDir(), &lockedBuffer{}
	cert, key := writeCertificate(t, dir, "hub.example.com", 1)
	open := func() (*CertificateFiles, error) {
		return OpenCertificate(cert, key, slog.New(slog.NewTextHandler(log, nil)))
	}
	f, err := open()
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		got, err := f.TLS().GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.Int64()
	}
	if serial() != 1 || f.Name() != "hub.example.com" || f.TLS().MinVersion != tls.VersionTLS12 {
		t.Errorf("certificate %d for %q", serial(), f.Name())
	}
	old, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, dir, "hub.example.com", 2)
	fresh, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if serial() != 2 {
		t.Error("a renewed certificate is not read")
	}
	later := func(d time.Duration, content []byte) {
		t.Helper()
		if err := os.WriteFile(key, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(key, time.Now().Add(d), time.Now().Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	later(time.Minute, old)
	if serial() != 2 || !strings.Contains(log.String(), "the previous one stays in use") {
		t.Errorf("while the key is another's: %s", log)
	}
	later(2*time.Minute, fresh)
	if serial() != 2 || strings.Count(log.String(), "the previous one stays in use") != 1 {
		t.Errorf("after it is right again: %s", log)
	}
	if err := os.Remove(cert); err != nil || serial() != 2 {
		t.Errorf("without the file: %v", err)
	}
	if strings.Contains(log.String(), "PRIVATE") {
		t.Error("the key is in the log")
	}
	if _, err := open(); err == nil {
		t.Error("no certificate opens")
	}
}

func TestSecretFiles(t *testing.T) {
	cert, key := writeCertificate(t, t.TempDir(), "hub.example.com", 1)
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o644: false, 0o606: false} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenCertificate(cert, key, nil); (err == nil) != good {
			t.Errorf("a key of mode %v: %v", mode, err)
		} else if !good && !strings.Contains(err.Error(), "chmod") {
			t.Errorf("what to do is not said: %v", err)
		}
	}
}

// Old versions of TLS are refused; pages are served over the new ones, with HTTP/2.
func TestServeTLS(t *testing.T) {
	cert, key := writeCertificate(t, t.TempDir(), "hub.example.com", 1)
	f, err := OpenCertificate(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	x := newSite(t, func(c *Config) {
		c.TLS, c.PublicURL = f.TLS(), &url.URL{Scheme: "https", Host: "hub.example.com"}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.s.Serve(ctx, l) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	ask := func(most uint16, ciphers ...uint16) (*http.Response, error) {
		transport := &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: most,
				CipherSuites: ciphers},
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
			}}
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://hub.example.com/signin", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err == nil {
			res.Body.Close()
		}
		return res, err
	}
	for _, old := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		if _, err := ask(old); err == nil {
			t.Errorf("%s is spoken", tls.VersionName(old))
		}
	}
	if _, err := ask(tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA); err == nil {
		t.Error("a cipher is spoken that does not say whether what it encrypts arrived whole")
	}
	for _, new := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		res, err := ask(new)
		if err != nil || res.StatusCode != 200 || res.ProtoMajor != 2 ||
			res.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s: %v %v", tls.VersionName(new), res, err)
		}
	}
}

func TestRedirect(t *testing.T) {
	h := Redirect(&url.URL{Scheme: "https", Host: "hub.example.com:8443"})
	for _, test := range []struct{ what, host, to string }{
		{"GET /s/x?a=b", "hub.example.com", "https://hub.example.com:8443/s/x?a=b"},
		{"GET /", "evil.example", "https://hub.example.com:8443/"},
		{"GET //evil.example/x", "hub.example.com", "https://hub.example.com:8443/evil.example/x"},
		{"HEAD /s/x", "hub.example.com", "https://hub.example.com:8443/s/x"},
		{"POST /signin", "hub.example.com", ""},
		{"GET /ahp?tkn=secret", "hub.example.com", ""},
	} {
		method, path, _ := strings.Cut(test.what, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+test.host+"/", nil)
		r.URL, _ = url.ParseRequestURI(path)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Location"); got != test.to || bytes.Contains(w.Body.Bytes(), []byte("secret")) {
			t.Errorf("%s of %s leads to %q: %s", test.what, test.host, got, w.Body)
		}
	}
}
