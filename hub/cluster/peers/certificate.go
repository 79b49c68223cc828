package peers

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"
)

const (
	authorityLife   = 30 * 365 * 24 * time.Hour
	certificateLife = 90 * 24 * time.Hour
	renewBefore     = 30 * 24 * time.Hour // expiry
	clockSkew       = time.Hour           // tolerated between nodes
)

// Application protocols, which say what a connection is for.
const (
	protocolRaft = "ahphub-raft/1"
	protocolNode = "ahphub-node/1" // HTTP/1.1 between nodes
	protocolJoin = "ahphub-join/1"
)

// errNotMember is returned for a node that is not, or no longer, a member.
var errNotMember = errors.New("the other side is not a node of this cluster, or was removed from it")

// identity is a certificate's statement about its node.
type identity struct{ cluster, name, incarnation string }

func (i identity) url() *url.URL {
	return &url.URL{Scheme: "ahphub-node", Opaque: i.cluster + "/" + i.name + "/" + i.incarnation}
}

func identityOf(c *x509.Certificate) (identity, error) {
	if len(c.URIs) == 1 && c.URIs[0].Scheme == "ahphub-node" {
		if p := strings.Split(c.URIs[0].Opaque, "/"); len(p) == 3 && c.Subject.CommonName == p[1] {
			return identity{p[0], p[1], p[2]}, nil
		}
	}
	return identity{}, errors.New("not a node's certificate")
}

func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b)
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}

// newAuthority creates the certificate of a cluster's authority.
func newAuthority(cluster string, key ed25519.PrivateKey, now time.Time) ([]byte, error) {
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "ahphub cluster " + cluster},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
}

// sign creates a node's certificate.
func sign(ca *x509.Certificate, key ed25519.PrivateKey, node ed25519.PublicKey, who identity,
	now time.Time) ([]byte, error) {
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: who.name}, URIs: []*url.URL{who.url()},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificateLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}
	return x509.CreateCertificate(rand.Reader, template, ca, node, key)
}

// newRequest creates a node's key and a request for its certificate.
func newRequest() (ed25519.PrivateKey, []byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	return key, der, err
}

// requestedKey returns the key that a certificate request proves, and ignores everything else in
// it.
func requestedKey(der []byte) (ed25519.PublicKey, error) {
	r, err := x509.ParseCertificateRequest(der)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return nil, errors.New("the certificate request is not valid")
	}
	key, ok := r.PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("a node's key must be an ed25519 key")
	}
	return key, nil
}

// verify returns the identity of the other side from the certificates that it proved. They must be
// from this authority, for this cluster, and valid now.
func verify(ca *x509.Certificate, cluster string, chain []*x509.Certificate, now time.Time) (identity, error) {
	if len(chain) == 0 {
		return identity{}, errors.New("the other side sent no certificate")
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return identity{}, fmt.Errorf("the other side's certificate is not valid: %w", err)
	}
	who, err := identityOf(chain[0])
	if err != nil {
		return identity{}, err
	}
	if who.cluster != cluster {
		return identity{}, fmt.Errorf("the other side is a node of another cluster, %s", who.cluster)
	}
	return who, nil
}

// tlsConfig returns the TLS configuration of both sides; check runs in every handshake.
func (n *Node) tlsConfig(check func(tls.ConnectionState) error, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             protocols,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return n.certificate(), nil },
		GetClientCertificate:   func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return n.certificate(), nil },
		ClientAuth:             tls.RequestClientCert,
		InsecureSkipVerify:     true, // VerifyConnection checks instead: names are nodes, not hosts
		SessionTicketsDisabled: true,
		VerifyConnection:       check,
	}
}

// member returns the member on the other side of a handshake.
func (n *Node) member(state tls.ConnectionState) (Member, error) {
	who, err := verify(n.ca, n.id.cluster, state.PeerCertificates, n.now())
	if err != nil {
		return Member{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	m, ok := n.members[who.name]
	if !ok || m.Incarnation != who.incarnation {
		return Member{}, fmt.Errorf("%w: %s", errNotMember, who.name)
	}
	return m, nil
}

// hashAuthority returns the hash that identifies the authority in a token.
func hashAuthority(ca *x509.Certificate) [sha256.Size]byte { return sha256.Sum256(ca.Raw) }
