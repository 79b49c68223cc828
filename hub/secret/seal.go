package secret

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

const (
	keyBytes = chacha20poly1305.KeySize
	format   = "ahs1"
)

// ErrDamaged reports a sealed value that was changed, or moved to another name or owner.
var ErrDamaged = errors.New("a sealed value was changed or belongs to another name. Enter it again")

// LockedError reports a value that was sealed with a missing key.
type LockedError struct{ Key string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("it was sealed with the key %s, which is not here. Restore that key, or enter the value again", e.Key)
}

// IsLocked reports whether an error means that a value's key is missing.
func IsLocked(err error) bool {
	_, locked := errors.AsType[*LockedError](err)
	return locked
}

// Label identifies a sealed value. It is authenticated with the value, but not stored in it.
type Label struct{ Kind, Owner, Name string }

// data returns the associated data.
func (l Label) data() []byte {
	var b []byte
	for _, field := range []string{format, l.Kind, l.Owner, l.Name} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return b
}

// key is one key with its cipher.
type key struct {
	id   string
	raw  []byte
	aead cipher.AEAD
}

// newKey returns a key of 32 bytes; it keeps raw.
func newKey(raw []byte) (key, error) {
	aead, err := chacha20poly1305.NewX(raw)
	if err != nil {
		return key{}, err
	}
	h := sha256.New()
	h.Write([]byte("ahphub secrets key 1\n"))
	h.Write(raw)
	return key{id: hex.EncodeToString(h.Sum(nil)[:8]), raw: raw, aead: aead}, nil
}

func randomKey() key {
	raw := make([]byte, keyBytes)
	rand.Read(raw)
	k, err := newKey(raw)
	if err != nil {
		panic(err) // the length is correct
	}
	return k
}

// seal encrypts a value with a nonce.
func (k key) seal(l Label, nonce, value []byte) string {
	sealed := k.aead.Seal(bytes.Clone(nonce), nonce, value, l.data())
	return format + "." + k.id + "." + base64.RawURLEncoding.EncodeToString(sealed)
}

// open decrypts the part of a sealed value after the key id.
func (k key) open(l Label, body string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || len(raw) < k.aead.NonceSize()+k.aead.Overhead() {
		return nil, ErrDamaged
	}
	n := k.aead.NonceSize()
	value, err := k.aead.Open(nil, raw[:n], raw[n:], l.data())
	if err != nil {
		return nil, ErrDamaged
	}
	return value, nil
}

// split splits a sealed value into its key's id and its body.
func split(sealed string) (id, body string, ok bool) {
	rest, ok := strings.CutPrefix(sealed, format+".")
	if !ok {
		return "", "", false
	}
	id, body, ok = strings.Cut(rest, ".")
	if raw, err := hex.DecodeString(id); !ok || err != nil || len(raw) != 8 {
		return "", "", false
	}
	return id, body, true
}

// IsSealed reports whether a text has the form of a sealed value.
func IsSealed(s string) bool {
	_, _, ok := split(s)
	return ok
}
