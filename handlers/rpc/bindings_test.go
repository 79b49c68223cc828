package rpc

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/store"
)

// A clientId is free for others seven days after its last use, both in memory and in the store.
func TestClientIdIsFreeAfterSevenDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bindings{hub: hub.New(hub.Config{}), log: slog.New(slog.DiscardHandler), known: map[string]binding{}}
		other := access.Principal{ID: "guest:2", Role: access.RoleViewer}
		open := func() error { return nil }
		must(t, b.connect(t.Context(), principals["guest"], "x", open))
		time.Sleep(3 * 24 * time.Hour)
		b.markLeft(principals["guest"], "x")
		time.Sleep(6 * 24 * time.Hour)
		if err := b.connect(t.Context(), other, "x", open); !errors.Is(err, hub.ErrClientTaken) {
			t.Errorf("six days after the last visit: %v", err)
		}
		time.Sleep(2 * 24 * time.Hour)
		must(t, b.connect(t.Context(), other, "x", open))
	})
}

// The owner's bindings are kept, however many clients guests name.
func TestGuestsCannotEvictOwnersBindings(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer s.Close()
	h := hub.New(hub.Config{Journal: true, Boot: hub.Boot{Reserved: 1 << 20}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, h) }()
	defer func() { cancel(); must(t, <-done) }()
	docs := s.Documents(h)
	for rank, text := range []string{"guest", "person", "owner"} {
		r := s.BindingRecord("x", rank, nil)
		must(t, docs.Put(t.Context(), r.Bucket, r.Key, []byte(text)))
		if got, found, err := s.Binding(t.Context(), "x"); string(got) != text || !found || err != nil {
			t.Errorf("the clientId is bound to %q, %v, %v; want %q", got, found, err, text)
		}
	}
}
