package secret

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSealedFormatStaysReadable has test vectors of the format, which other programs and later
// versions must open.
func TestSealedFormatStaysReadable(t *testing.T) {
	raw := make([]byte, 32)
	nonce := make([]byte, 24)
	for i := range raw {
		raw[i] = byte(i)
	}
	for i := range nonce {
		nonce[i] = byte(0xa0 + i)
	}
	k, err := newKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if got := k.seal(v.label, nonce, []byte(v.value)); got != v.sealed {
			t.Errorf("%q is sealed as %s", v.value, got)
		}
		if got, err := (&Keys{list: []key{k}}).Open(v.label, v.sealed); err != nil || string(got) != v.value {
			t.Errorf("%s opens as %q (%v)", v.sealed, got, err)
		}
	}
}

var vectors = []struct {
	label         Label
	value, sealed string
}{
	{Label{"secret", "owner", "GITHUB_TOKEN"}, "ghp_0123456789",
		"ahs1.354f624870979712.oKGio6SlpqeoqaqrrK2ur7CxsrO0tba3IoR6Qodslp9VWhu-SQlblO8DTEiWKsh4wYqmXjXP"},
	{Label{"webhook", "person:ana", "0011223344556677"}, "",
		"ahs1.354f624870979712.oKGio6SlpqeoqaqrrK2ur7CxsrO0tba3nqvkdV8YASHBsfKZwFJ_ew"},
}

func TestSealedValueOpensOnlyWhereItBelongs(t *testing.T) {
	k, err := OpenKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := Label{"secret", "owner", "TOKEN"}
	sealed := k.Seal(l, []byte("value"))
	if strings.Contains(sealed, "value") || !IsSealed(sealed) || !k.IsCurrent(sealed) {
		t.Fatalf("it is sealed as %s", sealed)
	}
	if again := k.Seal(l, []byte("value")); again == sealed {
		t.Error("the same value is sealed to the same text twice")
	}
	for _, other := range []Label{{"webhook", "owner", "TOKEN"}, {"secret", "person:a", "TOKEN"}, {"secret", "owner", "OTHER"},
		{"secret", "ownerTOKEN", ""}, {"secretowner", "", "TOKEN"}} {
		if got, err := k.Open(other, sealed); !errors.Is(err, ErrDamaged) {
			t.Errorf("as %v it opens as %q (%v)", other, got, err)
		}
	}
	for i := range sealed {
		changed := []byte(sealed)
		changed[i] ^= 1
		if got, err := k.Open(l, string(changed)); err == nil {
			t.Fatalf("with byte %d changed it opens as %q", i, got)
		}
	}
}

func TestKeyFileIsPrivateAndKept(t *testing.T) {
	dir := t.TempDir()
	k, err := OpenKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	sealed := k.Seal(Label{}, []byte("x"))
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v (%v)", info.Mode(), err)
	}
	if k, err = OpenKeys(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open(Label{}, sealed); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, KeyFile)); err != nil {
		t.Fatal(err)
	}
	if k, err = OpenKeys(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open(Label{}, sealed); !IsLocked(err) {
		t.Errorf("without its key: %v", err)
	}
}

func TestBadKeyFileIsRefusedWithoutItsContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for _, content := range []string{"", "# nothing\n", "c2VjcmV0\n", "not a key at all", strings.Repeat("00", 31),
		strings.Repeat("a", mostKeyBytes+1)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadKeys(path)
		if err == nil {
			t.Errorf("%.20q is taken as a key", content)
		} else if strings.TrimSpace(content) != "" && strings.Contains(err.Error(), strings.TrimSpace(content)) {
			t.Errorf("the error quotes the file: %v", err)
		}
	}
}

// memo stores one sealed value, and can fail on demand.
type memo struct {
	keys   *Keys
	sealed string
	fail   error
	saw    func()
}

func (m *memo) Reseal(context.Context) (int, int, error) {
	if m.fail != nil {
		return 0, 0, m.fail
	}
	sealed, changed, err := m.keys.Reseal(Label{"k", "o", "n"}, m.sealed)
	m.sealed = sealed
	if m.saw != nil {
		m.saw()
	}
	switch {
	case IsLocked(err):
		return 0, 1, nil
	case changed:
		return 1, 0, err
	}
	return 0, 0, err
}

func TestRotationKeepsOldKeyUntilAllIsSealed(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	k, err := OpenKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := k.ID()
	m := &memo{keys: k, sealed: k.Seal(Label{"k", "o", "n"}, []byte("value"))}
	m.fail = errors.New("the disk is full")
	if err := k.Rotate(ctx, m); !errors.Is(err, m.fail) {
		t.Fatal(err)
	}
	if k, err = OpenKeys(dir); err != nil { // as after a crash
		t.Fatal(err)
	}
	if k.ID() == first {
		t.Error("the new key does not seal")
	}
	m.keys, m.fail = k, nil
	m.saw = func() {
		if on, err := readKeys(filepath.Join(dir, KeyFile)); err != nil || len(on) != 2 {
			t.Errorf("while it seals, the file has %d keys (%v)", len(on), err)
		}
	}
	if p, err := k.Finish(ctx, m); err != nil || p.Sealed != 1 {
		t.Fatal(p, err)
	}
	if k, err = OpenKeys(dir); err != nil || len(k.list) != 1 {
		t.Fatal(len(k.list), err)
	}
	if got, err := k.Open(Label{"k", "o", "n"}, m.sealed); err != nil || string(got) != "value" {
		t.Errorf("it opens as %q (%v)", got, err)
	}
}

func TestKeyOfOwnerIsNeverChanged(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "key"), context.Background()
	old, fresh := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	write(hex.EncodeToString(old) + "\n")
	k, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &memo{keys: k, sealed: k.Seal(Label{"k", "o", "n"}, []byte("value"))}
	if err := k.Rotate(ctx, m); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("rotating says %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(base64.StdEncoding.EncodeToString(fresh) + "\n" + hex.EncodeToString(old) + "\n")
	if k, err = ReadKeys(path); err != nil {
		t.Fatal(err)
	}
	m.keys = k
	if p, err := k.Finish(ctx, m); err != nil || p != (Progress{Sealed: 1, Spare: 1}) || !k.IsCurrent(m.sealed) {
		t.Error(p, err)
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Contains(b, []byte(hex.EncodeToString(old))) {
		t.Error("the owner's file was changed", err)
	}
}

func FuzzOpen(f *testing.F) {
	k := &Keys{list: []key{randomKey()}}
	f.Add(k.Seal(Label{"a", "b", "c"}, []byte("value")))
	f.Add("ahs1.0011223344556677.")
	f.Add("ahs1..")
	sealed := k.Seal(Label{"a", "b", "c"}, []byte("value"))
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := k.Open(Label{"a", "b", "d"}, s); err == nil {
			t.Fatalf("%q opens as %q", s, got)
		}
		if got, err := k.Open(Label{"a", "b", "c"}, s); err == nil && s != sealed && string(got) != "value" {
			t.Fatalf("%q opens as %q", s, got)
		}
	})
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("# x\n" + strings.Repeat("ab", 32) + "\n"))
	f.Add([]byte(base64.StdEncoding.EncodeToString(make([]byte, 32))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := parseKeys(raw)
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d keys and %v", len(list), err)
		}
	})
}
