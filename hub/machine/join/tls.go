package join

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"time"
)

// protocol is the name and version of the protocol between the two sides.
const protocol = "ahphub-machine/1"

// ErrWrongHub reports that the hub does not have the key of the machine's token.
var ErrWrongHub = errors.New("this is not the hub that the token is from: its key is another one. Check the address, or create a new token")

// certificate returns a self-signed certificate of a key. Only its key counts.
func certificate(key ed25519.PrivateKey) (tls.Certificate, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ahphub"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func config(key ed25519.PrivateKey, check func(ed25519.PublicKey) error) (*tls.Config, error) {
	own, err := certificate(key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		Certificates:           []tls.Certificate{own},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // VerifyConnection compares the key, and the handshake proves it
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			key, err := peerKey(state)
			if err != nil {
				return err
			}
			return check(key)
		},
	}, nil
}

// peerKey returns the key whose possession the other side proved.
func peerKey(state tls.ConnectionState) (ed25519.PublicKey, error) {
	if state.NegotiatedProtocol != protocol {
		return nil, errors.New("the other side does not speak " + protocol + ": use the same release of ahphub on both computers")
	}
	if len(state.PeerCertificates) != 1 {
		return nil, errors.New("the other side did not show one certificate")
	}
	key, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("the other side does not have an ed25519 key")
	}
	return key, nil
}

// secure runs the handshake and returns the key of the other side.
func secure(ctx context.Context, conn *tls.Conn) (ed25519.PublicKey, error) {
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return peerKey(conn.ConnectionState())
}

// withDeadline lets reads and writes of conn fail after d, until the returned function is called.
func withDeadline(conn net.Conn, d time.Duration) (lift func() error, err error) {
	err = conn.SetDeadline(time.Now().Add(d))
	return func() error { return conn.SetDeadline(time.Time{}) }, err
}
