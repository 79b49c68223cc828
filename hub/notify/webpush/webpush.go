// Package webpush encrypts messages for the push subscription of a browser (RFC 8291, with the
// content encoding of RFC 8188), and signs the requests that carry them (VAPID, RFC 8292).
package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
)

const (
	// MaxMessage is the maximum size of a message: push services accept bodies of 4096 bytes.
	MaxMessage = 3<<10 - 1

	padTo      = 1 << 10 // messages are padded to a multiple, to hide their size
	recordSize = 4096
	saltSize   = 16
	secretSize = 16
	pointSize  = 65 // of an uncompressed P-256 key
	lastRecord = 2  // marks the end of the last record
)

// Subscription holds the address of a browser at its push service, and the keys to encrypt its
// messages.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Key      string `json:"p256dh"` // the browser's public key, in base64url
	Secret   string `json:"auth"`   // known only to the browser and this server
}

// ErrKeys reports keys that are not a browser's.
var ErrKeys = errors.New("the browser's keys for push messages can't be read. Reload the page and try again")

// Check refuses unusable keys.
func (s *Subscription) Check() error {
	_, _, err := s.keys()
	return err
}

func (s *Subscription) keys() (*ecdh.PublicKey, []byte, error) {
	point, err := decode(s.Key, pointSize)
	if err != nil {
		return nil, nil, err
	}
	secret, err := decode(s.Secret, secretSize)
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdh.P256().NewPublicKey(point)
	if err != nil { // not on the curve
		return nil, nil, ErrKeys
	}
	return key, secret, nil
}

func decode(text string, size int) ([]byte, error) {
	if len(text) > 2*size {
		return nil, ErrKeys
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(raw) != size {
		return nil, ErrKeys
	}
	return raw, nil
}

// Encrypt returns the body of a request that sends a message to the browser.
func (s *Subscription) Encrypt(message []byte) ([]byte, error) {
	once, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltSize)
	rand.Read(salt)
	pad := padTo - (len(message)+1)%padTo
	return s.encrypt(message, pad%padTo, once, salt)
}

func (s *Subscription) encrypt(message []byte, pad int, once *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	if len(message) > MaxMessage {
		return nil, errors.New("the message is too long to be pushed")
	}
	browser, secret, err := s.keys()
	if err != nil {
		return nil, err
	}
	shared, err := once.ECDH(browser)
	if err != nil {
		return nil, err
	}
	ours := once.PublicKey().Bytes()
	seal, nonce, err := deriveKeys(shared, secret, salt, browser.Bytes(), ours)
	if err != nil {
		return nil, err
	}
	body := append([]byte{}, salt...)
	body = binary.BigEndian.AppendUint32(body, recordSize)
	body = append(append(body, byte(len(ours))), ours...)
	padded := append(append(append([]byte{}, message...), lastRecord), make([]byte, pad)...)
	return seal.Seal(body, nonce, padded, nil), nil
}

// deriveKeys returns the cipher and nonce for a message's only record, which both sides derive.
func deriveKeys(shared, secret, salt, browser, server []byte) (cipher.AEAD, []byte, error) {
	input, err := derive(shared, secret, "WebPush: info\x00"+string(browser)+string(server), 32)
	if err != nil {
		return nil, nil, err
	}
	key, err := derive(input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := derive(input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	seal, err := cipher.NewGCM(block)
	return seal, nonce, err
}

func derive(input, salt []byte, info string, size int) ([]byte, error) {
	return hkdf.Key(sha256.New, input, salt, info, size)
}
