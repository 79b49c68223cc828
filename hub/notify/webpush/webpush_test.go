package webpush

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

// The example of RFC 8291, section 5 and appendix A.
const (
	message     = "When I grow up, I want to be a watermelon"
	ourKey      = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
	salt        = "DGv6ra1nlYgDCS1FRnbzlw"
	browserKey  = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	sharedBytes = "BTBZMqHH6r4Tts7J_aSIgg"
	encrypted   = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6P" +
		"Bru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)

func raw(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncryptAsTheStandardDoes(t *testing.T) {
	once, err := ecdh.P256().NewPrivateKey(raw(t, ourKey))
	if err != nil {
		t.Fatal(err)
	}
	s := Subscription{Key: browserKey, Secret: sharedBytes}
	got, err := s.encrypt([]byte(message), 0, once, raw(t, salt))
	if err != nil || !bytes.Equal(got, raw(t, encrypted)) {
		t.Errorf("the standard's example is encrypted as %s, %v", base64.RawURLEncoding.EncodeToString(got), err)
	}
}

func TestMessageSizeIsHidden(t *testing.T) {
	s := Subscription{Key: browserKey, Secret: sharedBytes}
	sizes := map[int]bool{}
	for _, n := range []int{0, 1, 500, 1022, 1023} {
		body, err := s.Encrypt(make([]byte, n))
		if err != nil {
			t.Fatal(err)
		}
		sizes[len(body)] = true
	}
	if len(sizes) != 1 {
		t.Errorf("short messages have bodies of %v bytes", sizes)
	}
	body, err := s.Encrypt(make([]byte, MaxMessage))
	if err != nil || len(body) > 4096 {
		t.Errorf("the longest message has %d bytes, %v: push services take 4096", len(body), err)
	}
	if _, err := s.Encrypt(make([]byte, MaxMessage+1)); err == nil {
		t.Error("a message that is too long is encrypted")
	}
}

func TestRefuseKeysThatNoBrowserGave(t *testing.T) {
	offCurve := base64.RawURLEncoding.EncodeToString(append([]byte{4}, make([]byte, 64)...))
	for _, s := range []Subscription{
		{Key: "", Secret: sharedBytes}, {Key: browserKey, Secret: ""}, {Key: browserKey[:80], Secret: sharedBytes},
		{Key: offCurve, Secret: sharedBytes}, {Key: "!" + browserKey[1:], Secret: sharedBytes},
		{Key: browserKey, Secret: sharedBytes + "AA"}, {Key: strings.Repeat("A", 1<<20), Secret: sharedBytes},
	} {
		if err := s.Check(); !errors.Is(err, ErrKeys) {
			t.Errorf("%.40q with %.40q: %v", s.Key, s.Secret, err)
		}
		if _, err := s.Encrypt([]byte(message)); err == nil {
			t.Errorf("%.40q encrypts", s.Key)
		}
	}
	if s := (Subscription{Key: browserKey + "=", Secret: sharedBytes + "=="}); s.Check() != nil {
		t.Errorf("padded keys: %v", s.Check())
	}
}
