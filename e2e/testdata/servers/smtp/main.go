// Smtp is a mail server for tests: it offers STARTTLS with its own certificate, requires its only
// user to sign in, and writes every accepted mail to a directory, preceded by the envelope. While a
// file named hold exists, it accepts mail but does not confirm it; while one named away exists, it
// refuses mail temporarily.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

func main() {
	dir := os.Args[1]
	cert, err := certificate(filepath.Join(dir, "cert.pem"))
	if err != nil {
		log.Fatal(err)
	}
	s := smtp.NewServer(&backend{dir: dir})
	s.Domain, s.TLSConfig, s.MaxMessageBytes = "localhost", &tls.Config{Certificates: []tls.Certificate{cert}}, 1<<20
	listen := "127.0.0.1:0"
	if len(os.Args) > 2 {
		listen = os.Args[2]
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening", l.Addr())
	log.Fatal(s.Serve(l))
}

// certificate loads or creates a certificate for this machine, and stores it for clients to trust.
func certificate(path string) (tls.Certificate, error) {
	if cert, err := tls.LoadX509KeyPair(path, path+".key"); err == nil {
		return cert, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	err = errors.Join(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(path+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(path, path+".key")
}

type backend struct {
	dir string
	n   atomic.Int64
}

func (b *backend) NewSession(c *smtp.Conn) (smtp.Session, error) { return &session{b: b, c: c}, nil }

type session struct {
	b        *backend
	c        *smtp.Conn
	known    bool
	from, to string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "hub" || password != os.Getenv("SMTP_PASSWORD") {
			return errors.New("wrong user or password")
		}
		s.known = true
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if _, secure := s.c.TLSConnectionState(); !secure || !s.known {
		return smtp.ErrAuthRequired
	}
	if s.there("away") {
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "come again later"}
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to += to + "\n"
	return nil
}

func (s *session) Data(r io.Reader) error {
	mail, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	name := filepath.Join(s.b.dir, fmt.Sprintf("%d-%d.eml", time.Now().UnixNano(), s.b.n.Add(1)))
	if err := os.WriteFile(name+".part", []byte("from "+s.from+"\nto "+s.to+"\n"+string(mail)), 0o600); err != nil {
		return err
	}
	if err := os.Rename(name+".part", name); err != nil {
		return err
	}
	for s.there("hold") {
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func (s *session) there(name string) bool {
	_, err := os.Stat(filepath.Join(s.b.dir, name))
	return err == nil
}

func (s *session) Reset() { s.from, s.to = "", "" }

func (s *session) Logout() error { return nil }
