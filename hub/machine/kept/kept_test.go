package kept_test

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/kept"
)

// memory stores documents of one bucket.
type memory struct {
	mu   sync.Mutex
	docs map[string][]byte
}

func (m *memory) Get(_ context.Context, _, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.docs[key]
	return v, ok, nil
}

func (m *memory) PutAll(_ context.Context, _ string, values map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.docs, values)
	maps.DeleteFunc(m.docs, func(_ string, v []byte) bool { return v == nil })
	return nil
}

func newStore(t *testing.T) (*kept.Store, *memory) {
	t.Helper()
	docs := &memory{docs: map[string][]byte{}}
	s, err := kept.New(docs)
	if err != nil {
		t.Fatal(err)
	}
	return s, docs
}

// hold stores a version.
func hold(t *testing.T, s *kept.Store, session, oid string, data []byte) {
	t.Helper()
	if err := s.Put(t.Context(), session, map[string][]byte{oid: data}); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, s *kept.Store, session, oid string) bool {
	t.Helper()
	_, ok, err := s.Get(t.Context(), session, oid)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestVersionsAreKeptPerSession(t *testing.T) {
	s, docs := newStore(t)
	hold(t, s, "a", "1", []byte("one"))
	hold(t, s, "a", "2", nil) // an empty file
	hold(t, s, "b", "1", []byte("one"))
	if data, ok, err := s.Get(t.Context(), "a", "1"); string(data) != "one" || !ok || err != nil {
		t.Errorf("it is %q, %v, %v", data, ok, err)
	}
	if !has(t, s, "a", "2") || has(t, s, "b", "2") {
		t.Error("an empty file is not kept, or for another session")
	}
	files := []machine.ChangedFile{{OldOID: "1", NewOID: "3", NewSize: 5},
		{OldOID: "3", NewOID: "4", NewSize: kept.MostVersion + 1},
		{OldOID: "5", NewOID: "6", NewMode: machine.ModeSubmodule}}
	lacking, err := s.Lacking(t.Context(), "a", files)
	if err != nil || len(lacking) != 1 || lacking[0] != (kept.Wanted{OID: "3", Size: 5}) {
		t.Errorf("lacking are %+v, %v", lacking, err)
	}
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	hold(t, s, "a", "7", []byte("late"))
	if !has(t, s, "b", "1") || len(docs.docs) != 2 {
		t.Errorf("after one session was deleted there are %d documents", len(docs.docs))
	}
}

func TestOldestVersionsMakeRoom(t *testing.T) {
	s, docs := newStore(t)
	noise := rand.NewChaCha8([32]byte{}) // does not compress
	const more = 3
	for i := range kept.MostBytes/kept.MostVersion + more {
		data := make([]byte, kept.MostVersion)
		_, _ = noise.Read(data) // never fails
		hold(t, s, "a", strconv.Itoa(i), data)
	}
	total := 0
	for _, v := range docs.docs {
		total += len(v)
	}
	if has(t, s, "a", "0") || has(t, s, "a", strconv.Itoa(more-1)) {
		t.Error("the oldest are still kept")
	}
	if last := strconv.Itoa(kept.MostBytes/kept.MostVersion + more - 1); !has(t, s, "a", last) {
		t.Error("the newest is not kept")
	}
	if total > kept.MostBytes+64<<10 {
		t.Errorf("%d bytes are kept", total)
	}
	hold(t, s, "b", "large", bytes.Repeat([]byte("a"), kept.MostVersion+1))
	if has(t, s, "b", "large") {
		t.Error("a version that is too large is kept")
	}
}

func TestDamagedVersionIsAnError(t *testing.T) {
	s, docs := newStore(t)
	hold(t, s, "a", "1", []byte("one"))
	docs.docs["a 1"] = []byte("damaged")
	if _, ok, err := s.Get(t.Context(), "a", "1"); ok || err == nil {
		t.Errorf("it is read: %v, %v", ok, err)
	}
}
