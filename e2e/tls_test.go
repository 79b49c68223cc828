package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

const hubName = "hub.example.com"

// authority is a test certificate authority.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
	next int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool(), next: 1}
	a.key = a.newKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

// issue writes a certificate for names with its key into a directory, replacing existing ones.
func (a *authority) issue(dir string, names ...string) (cert, key string) {
	a.t.Helper()
	a.next++
	template := &x509.Certificate{SerialNumber: big.NewInt(a.next), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour)}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	private := a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.write(cert, "CERTIFICATE", der)
	a.write(key, "PRIVATE KEY", raw)
	return cert, key
}

func (a *authority) write(path, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// reaching returns a client that connects every name to this machine, at the requested port.
func reaching(t *testing.T, pool *x509.CertPool) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func fetch(t *testing.T, c *http.Client, address string) *http.Response {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res
}

func serialOf(res *http.Response) string { return res.TLS.PeerCertificates[0].SerialNumber.String() }

// speaksOver has a protocol client create a session.
func speaksOver(t *testing.T, prog *Program, c *http.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: prog.Token(), ClientID: uuid.NewString(), HTTP: c})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	newOverProtocol(t, ctx, p)
}

// The program serves TLS with a certificate from files: pages in a browser, the protocol by wss,
// and a renewed certificate without a restart.
func TestTLSByFiles(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	dir := t.TempDir()
	cert, key := ca.issue(dir, hubName, "localhost")
	redirect := loopbacktest.Address(t)
	prog := Start(t, Options{Args: []string{"--agent", "script", "--tls-cert", cert, "--tls-key", key,
		"--http-redirect", redirect}})
	if !strings.HasPrefix(prog.URL, "https://"+hubName+":") || !strings.HasPrefix(prog.AHP, "wss://"+hubName+":") ||
		!strings.HasPrefix(prog.Lines["sign_in"], prog.URL) {
		t.Errorf("printed %v", prog.Lines)
	}
	c := reaching(t, ca.pool)
	res := fetch(t, c, prog.URL+"/signin")
	if res.StatusCode != 200 || res.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s: %v", res.Status, res.Header)
	}
	if res := fetch(t, c, "http://"+redirect+"/signin?next=/s/x"); res.StatusCode != 308 ||
		res.Header.Get("Location") != prog.URL+"/signin?next=/s/x" {
		t.Errorf("http leads to %q: %s", res.Header.Get("Location"), res.Status)
	}
	speaksOver(t, prog, c)

	before := serialOf(res)
	ca.issue(dir, hubName, "localhost")
	if after := serialOf(fetch(t, c, prog.URL+"/healthz")); after == before {
		t.Error("the renewed certificate is not used")
	}
	if out, err := prog.Command("doctor", "--listen", strings.Replace(strings.TrimPrefix(prog.URL, "https://"), hubName,
		"127.0.0.1", 1), "--data", prog.Data, "--tls-cert", cert, "--tls-key", key); err != nil ||
		!strings.Contains(out, "is serving at") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// A browser signs in over https and wss: the policy allows what the page needs, and its cookie is
// only for https.
func TestTLSInABrowser(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, key := ca.issue(t.TempDir(), "localhost")
	prog := Start(t, Options{Args: []string{"--agent", "script", "--tls-cert", cert, "--tls-key", key}})
	page := StartBrowser(t, chromedp.IgnoreCertErrors).Page()
	page.SignIn(prog)
	page.Live()
	page.Shot("inbox")
	jar := visitorOf(t, prog, reaching(t, ca.pool))
	for _, cookie := range jar {
		if !cookie.Secure || !cookie.HttpOnly {
			t.Errorf("the cookie is %v", cookie)
		}
	}
}

// visitorOf signs in without a browser and returns the cookies that were set.
func visitorOf(t *testing.T, prog *Program, c *http.Client) []*http.Cookie {
	t.Helper()
	res, err := c.PostForm(prog.URL+"/signin", url.Values{"token": {fragment(prog.SignIn())}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if len(res.Cookies()) == 0 {
		t.Fatalf("signing in: %s", res.Status)
	}
	return res.Cookies()
}

// A real ACME authority issues a certificate that the program serves, also after a restart.
func TestTLSByACME(t *testing.T) {
	t.Parallel()
	prog, pool := startWithACME(t)
	c := reaching(t, pool)
	first := fetch(t, c, prog.URL+"/signin")
	if first.StatusCode != 200 || !strings.HasPrefix(prog.AHP, "wss://"+hubName) {
		t.Errorf("%s at %v", first.Status, prog.Lines)
	}
	speaksOver(t, prog, c)
	if res, err := c.Get(strings.Replace(prog.URL, hubName, "other.example.com", 1)); err == nil {
		res.Body.Close()
		t.Error("a certificate was made for a name that nobody asked for")
	}
	privateTree(t, prog.Data)
	at := strings.Replace(strings.TrimPrefix(prog.URL, "https://"), hubName, "127.0.0.1", 1)
	prog.Stop()
	prog.start(at)
	if again := fetch(t, c, prog.URL+"/healthz"); serialOf(again) != serialOf(first) {
		t.Error("the certificate was not kept")
	}
}

// startWithACME starts an authority, a name server for this machine, and the program, which gets
// its certificate there.
func startWithACME(t *testing.T) (*Program, *x509.CertPool) {
	t.Helper()
	at, redirect := loopbacktest.Address(t), loopbacktest.Address(t)
	args, root := startACME(t, at, redirect)
	prog := Start(t, Options{Args: append([]string{"--listen", at, "--agent", "script", "--http-redirect", redirect}, args...)})
	return prog, root
}

// startACME starts an authority that validates at these addresses, and a name server for this
// machine. It returns the arguments for programs that get certificates there, and the root that
// clients trust.
func startACME(t *testing.T, at, redirect string) (args []string, pool *x509.CertPool) {
	t.Helper()
	ca, dir := newAuthority(t), t.TempDir()
	cert, key := ca.issue(dir, "127.0.0.1")
	root := filepath.Join(dir, "root.pem")
	ca.write(root, "CERTIFICATE", ca.cert.Raw)
	acme, manage := loopbacktest.Address(t), loopbacktest.Address(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{"listenAddress": acme,
		"managementListenAddress": manage, "certificate": cert, "privateKey": key, "httpPort": portNumber(t, redirect),
		"tlsPort": portNumber(t, at), "keyAlgorithm": "ecdsa", "retryAfter": map[string]int{"authz": 1, "order": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pebble.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	runServer(t, "ACME directory available", "github.com/letsencrypt/pebble/v2/cmd/pebble",
		[]string{"PEBBLE_VA_NOSLEEP=1"},
		"-config", file, "-dnsserver", namesThatLeadHere(t))
	args = []string{"--acme", hubName, "--acme-directory", "https://" + acme + "/dir", "--acme-roots", root}
	return args, rootOf(t, reaching(t, ca.pool), "https://"+manage+"/roots/0")
}

func portNumber(t *testing.T, address string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}

// rootOf returns the authority's root, which differs at each start.
func rootOf(t *testing.T, c *http.Client, address string) *x509.CertPool {
	t.Helper()
	var res *http.Response
	waitUntil(t, "the authority answers", func() (err error) { res, err = c.Get(address); return err })
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(b) {
		t.Fatalf("the authority's root: %v\n%s", err, b)
	}
	return pool
}

// waitUntil retries until there is no error.
func waitUntil(t *testing.T, what string, ask func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for err := ask(); err != nil; err = ask() {
		if time.Now().After(end) {
			t.Fatalf("%s: not in %v: %v", what, patience, err)
		}
		<-tick.C
	}
}

// namesThatLeadHere starts a name server that returns 127.0.0.1 for each name.
func namesThatLeadHere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(patience))
				_ = answerName(conn)
			})
		}
	})
	return l.Addr().String()
}

// answerName answers one question, framed for TCP.
func answerName(conn io.ReadWriter) error {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	question := make([]byte, int(size[0])<<8|int(size[1]))
	if _, err := io.ReadFull(conn, question); err != nil {
		return err
	}
	answer := leadHere(question)
	_, err := conn.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...))
	return err
}

func leadHere(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Header.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class,
			TTL: 1},
			Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
	}
	answer, err := m.Pack()
	if err != nil {
		return nil
	}
	return answer
}
