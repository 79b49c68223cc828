package people

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
)

const here = "http://localhost:8137"

// authenticator is a software authenticator that signs with any given counter.
type authenticator struct {
	t      *testing.T
	key    *ecdsa.PrivateKey
	id     []byte
	handle string
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (a *authenticator) data(flags byte, counter uint32) []byte {
	rp := sha256.Sum256([]byte("localhost"))
	return binary.BigEndian.AppendUint32(append(rp[:], flags), counter)
}

func (a *authenticator) client(kind, challenge string) []byte {
	b, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": here, "crossOrigin": false})
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

func (a *authenticator) answer(response map[string]any) []byte {
	b, err := json.Marshal(map[string]any{"id": b64(a.id), "rawId": b64(a.id), "type": "public-key",
		"response": response})
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

// make answers a registration.
func (a *authenticator) make(o *protocol.CredentialCreation, counter uint32) []byte {
	a.handle = b64(o.Response.User.ID.(protocol.URLEncodedBase64))
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.t.Fatal(err)
	}
	cose, err := webauthncbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		a.t.Fatal(err)
	}
	data := append(a.data(0x45, counter), make([]byte, 16)...) // present, verified, with a credential; no model
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), cose...)
	attested, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.answer(map[string]any{"clientDataJSON": b64(a.client("webauthn.create", o.Response.Challenge.String())),
		"attestationObject": b64(attested)})
}

// sign answers a challenge.
func (a *authenticator) sign(o *protocol.CredentialAssertion, counter uint32) []byte {
	data, client := a.data(0x05, counter), a.client("webauthn.get", o.Response.Challenge.String())
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(append(bytes.Clone(data), hash[:]...))
	sig, err := ecdsa.SignASN1(rand.Reader, a.key, sum[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.answer(map[string]any{"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(sig),
		"userHandle": a.handle})
}

// A counter that does not advance reveals a copied passkey: the sign-in is refused, and the stored
// counter is unchanged.
func TestRefuseCopiedPasskey(t *testing.T) {
	p := &Passkeys{Store: &memory{docs: map[string][]byte{}}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authenticator{t: t, key: key, id: []byte("a credential's id")}
	made, err := p.BeginMaking(t.Context(), here, "person:ben", "Ben")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Make(t.Context(), "person:ben", "laptop", a.make(made.(*protocol.CredentialCreation), 5)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		counter uint32
		good    bool
	}{{6, true}, {6, false}, {5, false}, {1, false}, {7, true}, {100, true}, {99, false}, {101, true}} {
		began, err := p.BeginSigningIn(here)
		if err != nil {
			t.Fatal(err)
		}
		answer := a.sign(began.(*protocol.CredentialAssertion), step.counter)
		account, err := p.SignIn(t.Context(), answer)
		if step.good != (err == nil && account == "person:ben") || !step.good && !errors.Is(err, ErrNoPasskey) {
			t.Errorf("counter %d: %q, %v; want good %v", step.counter, account, err, step.good)
		}
		if _, err := p.SignIn(t.Context(), answer); !errors.Is(err, ErrNoPasskey) {
			t.Errorf("the answer with counter %d counts twice: %v", step.counter, err)
		}
	}
	if err := p.RemoveAll(t.Context(), "person:ben"); err != nil {
		t.Fatal(err)
	}
	began, _ := p.BeginSigningIn(here)
	if _, err := p.SignIn(t.Context(), a.sign(began.(*protocol.CredentialAssertion), 200)); !errors.Is(err,
		ErrNoPasskey) {
		t.Errorf("a passkey that was taken away: %v", err)
	}
}
