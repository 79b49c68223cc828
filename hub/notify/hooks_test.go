package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

const hookAddress = "https://hooks.example.com/T0/B1/XXtokenXX"

// stored returns everything stored about webhooks.
func (m *memory) stored() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []byte
	for _, raw := range m.docs[hookBucket] {
		all = append(all, raw...)
	}
	return all
}

func TestWebhooksAreSealedWhereTheyAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		defer w.stop()
		h, secret, err := w.n.NewHook(t.Context(), Hook{Owner: "owner", URL: hookAddress})
		if err != nil {
			t.Fatal(err)
		}
		if raw := w.store.stored(); bytes.Contains(raw, []byte(secret)) || bytes.Contains(raw, []byte("XXtokenXX")) {
			t.Errorf("stored is %s", raw)
		}
		got, err := w.n.Hooks(t.Context(), "owner")
		if err != nil || len(got) != 1 || got[0].URL != hookAddress || got[0].Secret != secret || got[0].ID != h.ID {
			t.Errorf("read is %+v (%v)", got, err)
		}
	})
}

func TestWebhooksOfEarlierProgramsAreSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		defer w.stop()
		raw, _ := json.Marshal(Hook{ID: "0011", Owner: "owner", URL: hookAddress, Secret: secretPrefix + "abc"})
		_ = w.store.Put(t.Context(), hookBucket, "0011", raw)
		if plain, err := w.n.HasPlain(t.Context()); err != nil || !plain {
			t.Fatal(plain, err)
		}
		if changed, locked, err := w.n.Reseal(t.Context()); changed != 1 || locked != 0 || err != nil {
			t.Fatal(changed, locked, err)
		}
		if bytes.Contains(w.store.stored(), []byte("XXtokenXX")) {
			t.Errorf("stored is %s", w.store.stored())
		}
		if h, err := w.n.hook(t.Context(), "0011"); err != nil || h.URL != hookAddress || h.Secret != secretPrefix+"abc" {
			t.Errorf("read is %+v (%v)", h, err)
		}
		if changed, _, err := w.n.Reseal(t.Context()); changed != 0 || err != nil {
			t.Error("it is sealed once more", changed, err)
		}
	})
}

func TestLockedWebhookSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		w := newWorld(t, store)
		h, _, err := w.n.NewHook(t.Context(), Hook{Owner: "owner", URL: hookAddress})
		if err != nil {
			t.Fatal(err)
		}
		w.stop()
		before := store.stored()
		store.keys = nil // the key is lost
		w = newWorld(t, store)
		defer w.stop()
		got, err := w.n.Hooks(t.Context(), "owner")
		if err != nil || len(got) != 1 || !strings.Contains(got[0].Gone, "Restore the key") {
			t.Fatalf("read is %+v (%v)", got, err)
		}
		if _, err := w.n.TestHook(t.Context(), "owner", h.ID); !errors.Is(err, ErrLockedHook) {
			t.Error(err)
		}
		// the webhook, and the key of push messages
		if changed, locked, err := w.n.Reseal(t.Context()); changed != 0 || locked != 2 || err != nil {
			t.Error(changed, locked, err)
		}
		if !bytes.Equal(before, store.stored()) {
			t.Error("a locked webhook was changed")
		}
		if _, err := w.n.RemoveHook(t.Context(), "owner", h.ID); err != nil {
			t.Error(err)
		}
	})
}
