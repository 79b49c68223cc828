package web

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/acme/autocert"
)

// turned is a fake of keys: it seals by shifting bytes.
type turned struct{ lost error }

func turn(data []byte) []byte {
	out := []byte("T")
	for _, b := range data {
		out = append(out, b^0x55)
	}
	return out
}

func (turned) Seal(_ string, data []byte) []byte { return turn(data) }

func (k turned) Open(_ string, data []byte) ([]byte, error) {
	if k.lost != nil || !bytes.HasPrefix(data, []byte("T")) {
		return data, k.lost
	}
	return turn(data[1:])[1:], nil
}

func (k turned) Reseal(_ string, data []byte) ([]byte, bool, error) {
	if bytes.HasPrefix(data, []byte("T")) {
		return data, false, k.lost
	}
	return turn(data), true, nil
}

func (k turned) IsLocked(err error) bool { return err == k.lost }

func TestACMEFilesAreSealed(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	a, err := NewACME(ACMEConfig{Names: []string{"hub.example.com"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "acme_account+key"), []byte("PRIVATE"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.SealBy(turned{})
	if changed, locked, err := a.Reseal(ctx); changed != 1 || locked != 0 || err != nil {
		t.Fatal(changed, locked, err)
	}
	if err := a.cache.Put(ctx, "hub.example.com", []byte("CERTIFICATE")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"acme_account+key": "PRIVATE", "hub.example.com": "CERTIFICATE"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || bytes.Contains(raw, []byte(want)) {
			t.Errorf("%s is %q (%v)", name, raw, err)
		}
		if got, err := a.cache.Get(ctx, name); err != nil || string(got) != want {
			t.Errorf("%s is read as %q (%v)", name, got, err)
		}
	}
	a.SealBy(turned{lost: errors.New("no key")})
	if _, err := a.cache.Get(ctx, "hub.example.com"); !errors.Is(err, autocert.ErrCacheMiss) {
		t.Errorf("without its key: %v", err)
	}
	if _, locked, err := a.Reseal(ctx); locked != 2 || err != nil {
		t.Error(locked, err)
	}
}
