package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"time"
)

// tokenLife is the validity of a signature; push services refuse more than 24 hours.
const tokenLife = 12 * time.Hour

// Key is the server's key pair: browsers subscribe to its public key, and push services then only
// accept messages signed with the private key.
type Key struct {
	private *ecdsa.PrivateKey
	public  string
}

// NewKey makes a key.
func NewKey() (*Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return keyOf(private)
}

// ParseKey parses the result of Bytes.
func ParseKey(raw []byte) (*Key, error) {
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, err
	}
	return keyOf(private)
}

func keyOf(private *ecdsa.PrivateKey) (*Key, error) {
	point, err := private.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	return &Key{private, base64.RawURLEncoding.EncodeToString(point)}, nil
}

// Bytes returns the private key.
func (k *Key) Bytes() ([]byte, error) { return k.private.Bytes() }

// Public returns the public key for subscriptions, in base64url.
func (k *Key) Public() string { return k.public }

// Authorize returns the Authorization header of a request to an endpoint. contact is an address
// through which the operator of the push service can reach this server's operator.
func (k *Key) Authorize(endpoint *url.URL, contact string, now time.Time) (string, error) {
	claims, err := json.Marshal(struct {
		Audience string `json:"aud"`
		Expires  int64  `json:"exp"`
		Subject  string `json:"sub"`
	}{endpoint.Scheme + "://" + endpoint.Host, now.Add(tokenLife).Unix(), contact})
	if err != nil {
		return "", err
	}
	token := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(token))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + token + "." + encode(signature) + ", k=" + k.public, nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
