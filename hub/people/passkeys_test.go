package people

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
)

func TestPasskeysBelongToNames(t *testing.T) {
	for origin, want := range map[string]bool{"http://localhost:8137": true, "https://hub.example.com": true,
		"http://127.0.0.1:8137": false, "http://[::1]:8137": false, "": false} {
		if got := PasskeysAt(origin); got != want {
			t.Errorf("%q: %v", origin, got)
		}
	}
	r := httptest.NewRequest("GET", "http://hub.example.com/", nil)
	if got := Origin(r, "https://hub.example.com"); got != "https://hub.example.com" {
		t.Errorf("behind a proxy: %s", got)
	}
	if got := Origin(r, "https://other.example.com"); got != "http://hub.example.com" {
		t.Errorf("by another name: %s", got)
	}
}

// Answers without a valid challenge are refused; a challenge is valid once and for a limited time.
func TestPasskeyCeremonies(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &Passkeys{Store: &memory{docs: map[string][]byte{}}, Now: func() time.Time { return now }}
	if _, err := p.BeginSigningIn("http://127.0.0.1"); !errors.Is(err, ErrNoName) {
		t.Errorf("at an address of numbers: %v", err)
	}
	for _, answer := range []string{"", "{}", `{"id":"x"}`, "null"} {
		if _, err := p.SignIn(t.Context(), []byte(answer)); !errors.Is(err, ErrNoPasskey) {
			t.Errorf("%q: %v", answer, err)
		}
		if err := p.Make(t.Context(), "owner", "x", []byte(answer)); !errors.Is(err, ErrNoPasskey) {
			t.Errorf("making by %q: %v", answer, err)
		}
	}
	begin := func() string {
		options, err := p.BeginSigningIn("http://localhost")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(options); err != nil || len(b) == 0 {
			t.Fatal(err)
		}
		return options.(*protocol.CredentialAssertion).Response.Challenge.String()
	}
	c := begin()
	if _, _, err := p.take(c); err != nil {
		t.Errorf("the first answer: %v", err)
	}
	if _, _, err := p.take(c); !errors.Is(err, ErrNoPasskey) {
		t.Errorf("the same again: %v", err)
	}
	c = begin()
	now = now.Add(pendingLife + time.Second)
	if _, _, err := p.take(c); !errors.Is(err, ErrNoPasskey) {
		t.Errorf("too late: %v", err)
	}
	for range mostPending {
		begin()
	}
	if _, err := p.BeginSigningIn("http://localhost"); err == nil {
		t.Error("ceremonies are begun without end")
	}
	now = now.Add(pendingLife + time.Second)
	begin()
}
