// Package webpushtest implements the other side of push messages for tests: subscribed browsers and
// their push service. It verifies and decrypts according to RFC 8291 and RFC 8292, and shares no
// code with package webpush.
package webpushtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Browser is a subscribed browser.
type Browser struct {
	Endpoint string
	private  *ecdh.PrivateKey
	secret   [16]byte
}

// NewBrowser subscribes a browser at an endpoint.
func NewBrowser(endpoint string) *Browser {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // the system has no randomness
	}
	b := &Browser{Endpoint: endpoint, private: private}
	rand.Read(b.secret[:])
	return b
}

// Keys returns the keys in a subscription's toJSON.
func (b *Browser) Keys() (p256dh, auth string) {
	return base64.RawURLEncoding.EncodeToString(b.private.PublicKey().Bytes()),
		base64.RawURLEncoding.EncodeToString(b.secret[:])
}

// Message is a message that the push service accepted.
type Message struct {
	Path    string // of the endpoint
	Header  http.Header
	Size    int    // of the body
	Text    []byte // decrypted
	Subject string // of the token
}

// Service is a push service: an HTTP server that accepts messages for its browsers.
type Service struct {
	Origin string // "scheme://host", the audience of tokens
	Key    string // the public key that browsers subscribed to; "": any

	mu       sync.Mutex
	browsers map[string]*Browser // by path
	got      []Message
	problems []error
	answers  []Answer
}

// Answer is an answer other than 201.
type Answer struct {
	Status     int
	RetryAfter string
}

// Subscribe adds a browser.
func (s *Service) Subscribe(name string) *Browser {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.browsers == nil {
		s.browsers = map[string]*Browser{}
	}
	b := NewBrowser(s.Origin + "/push/" + name)
	s.browsers["/push/"+name] = b
	return b
}

// Answer sets the answers to the next messages, which are then not accepted.
func (s *Service) Answer(next ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, next...)
}

// Messages returns the accepted messages, oldest first.
func (s *Service) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message{}, s.got...)
}

// Problems returns the errors found in requests.
func (s *Service) Problems() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error{}, s.problems...)
}

// ServeHTTP accepts a message.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.take(w, r, body)
	w.WriteHeader(status)
}

func (s *Service) take(w http.ResponseWriter, r *http.Request, body []byte) int {
	subject, err := s.check(r, body)
	if err != nil {
		s.problems = append(s.problems, err)
		return http.StatusForbidden
	}
	if len(s.answers) > 0 {
		next := s.answers[0]
		s.answers = s.answers[1:]
		if next.RetryAfter != "" {
			w.Header().Set("Retry-After", next.RetryAfter)
		}
		return next.Status
	}
	b := s.browsers[r.URL.Path]
	if b == nil {
		return http.StatusGone
	}
	text, err := b.decrypt(body)
	if err != nil {
		s.problems = append(s.problems, err)
		return http.StatusBadRequest
	}
	s.got = append(s.got, Message{r.URL.Path, r.Header.Clone(), len(body), text, subject})
	return http.StatusCreated
}

// check refuses a request as push services do, and returns the contact in its token.
func (s *Service) check(r *http.Request, body []byte) (subject string, err error) {
	switch {
	case r.Method != http.MethodPost:
		return "", errors.New("the method is " + r.Method)
	case len(body) > 4096:
		return "", fmt.Errorf("the body has %d bytes", len(body))
	case r.Header.Get("Content-Encoding") != "aes128gcm":
		return "", errors.New("the encoding is " + r.Header.Get("Content-Encoding"))
	case r.Header.Get("Ttl") == "" || r.Header.Get("Urgency") == "":
		return "", errors.New("TTL or Urgency is missing")
	case len(r.Header.Get("Topic")) > 32:
		return "", errors.New("the topic is too long")
	}
	return s.checkToken(r.Header.Get("Authorization"))
}

func (s *Service) checkToken(header string) (subject string, err error) {
	token, key, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 || s.Key != "" && key != s.Key {
		return "", fmt.Errorf("the token is %q, of another key than %s", header, s.Key)
	}
	point, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return "", err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return "", fmt.Errorf("the signature has %d bytes: %w", len(signature), err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return "", errors.New("the signature is wrong")
	}
	var head struct{ Typ, Alg string }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	if err := errors.Join(read(parts[0], &head), read(parts[1], &claims)); err != nil {
		return "", err
	}
	left := time.Until(time.Unix(claims.Exp, 0))
	if head.Alg != "ES256" || head.Typ != "JWT" || claims.Aud != s.Origin || left <= 0 || left > 24*time.Hour {
		return "", fmt.Errorf("the token says %+v %+v, and this is %s", head, claims, s.Origin)
	}
	if !strings.HasPrefix(claims.Sub, "https://") && !strings.HasPrefix(claims.Sub, "mailto:") {
		return "", fmt.Errorf("the contact is %q", claims.Sub)
	}
	return claims.Sub, nil
}

func read(part string, to any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// decrypt decrypts a body as the browser does.
func (b *Browser) decrypt(body []byte) ([]byte, error) {
	if len(body) < 86+17 || body[20] != 65 || binary.BigEndian.Uint32(body[16:20]) < uint32(len(body)-86) {
		return nil, errors.New("the body has no header of RFC 8188, or more than one record")
	}
	salt, point, sealed := body[:16], body[21:86], body[86:]
	server, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, err
	}
	shared, err := b.private.ECDH(server)
	if err != nil {
		return nil, err
	}
	info := append(append([]byte("WebPush: info\x00"), b.private.PublicKey().Bytes()...), point...)
	input := expand(mac(b.secret[:], shared), info, 32)
	first := mac(salt, input)
	block, err := aes.NewCipher(expand(first, []byte("Content-Encoding: aes128gcm\x00"), 16))
	if err != nil {
		return nil, err
	}
	open, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := open.Open(nil, expand(first, []byte("Content-Encoding: nonce\x00"), 12), sealed, nil)
	if err != nil {
		return nil, err
	}
	text, ended := bytes.CutSuffix(bytes.TrimRight(plain, "\x00"), []byte{2})
	if !ended {
		return nil, errors.New("the last record is not marked")
	}
	return text, nil
}

// expand implements the second step of HKDF, for at most 32 bytes; mac is the first.
func expand(key, info []byte, size int) []byte { return mac(key, append(info, 1))[:size] }

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}
